"""Features runs that cannot be an input are refused, with the place and the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.kinds import Headerless
from sharder_features import commit_features, feature_of, make_features, parquet_of, windows
from sharder_forging import relist
from sharder_runs import edit_manifest

ROWS = windows(120, each=2)
OTHER = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("feature.shape", {"feature": feature_of((4, 5))}),
        ("feature.dtype", {"feature": feature_of(dtype="float16")}),
        (
            "feature.parameters.n_fft",
            {"feature": feature_of().model_copy(update={"parameters": {"n_fft": 512}})},
        ),
        ("feature.sample_rate", {"feature": feature_of().model_copy(update={"sample_rate": 8000})}),
        ("engine", {"engine": "librosa"}),
        ("channels", {"channels": "left"}),
        (
            "headerless.coding",
            {"headerless": Headerless(coding="alaw", sample_rate=8000, channels=1)},
        ),
        ("algorithm", {"algorithm": 2}),
    ],
)
def test_inputs_of_different_recipes_are_refused(
    sharder: Callable, tmp_path: Path, field: str, other: dict[str, Any]
) -> None:
    """Naming the field, whatever kind it is, with both values and where each stands."""
    one = make_features(tmp_path, [ROWS[:9]])
    feature = other.get("feature", feature_of())
    two = commit_features(
        tmp_path,
        [parquet_of(windows(9), feature)],
        feature,
        windows=9,
        recordings=9,
        source="two",
        **{name: value for name, value in other.items() if name != "feature"},
    )
    ran = sharder("plan", one.folder, two.folder)
    assert 65 == ran.code
    assert f"{field} = " in ran.err
    assert str(one.folder) in ran.err
    assert str(two.folder) in ran.err


def test_inputs_may_be_cut_into_units_as_they_like(sharder: Callable, tmp_path: Path) -> None:
    """What does not show in a window may differ."""
    one = make_features(tmp_path, [windows(60, groups=30)])
    rows = [replace(row, path=f"more/{row.path}") for row in windows(60, groups=30)]
    two = commit_features(
        tmp_path,
        [parquet_of(rows, feature_of())],
        feature_of(),
        windows=60,
        recordings=60,
        source="two",
        unit_bytes=1 << 20,
        unit_recordings=7,
    )
    assert 0 == sharder("plan", one.folder, two.folder).code


def test_tables_that_were_imported_one_by_one_go_together(
    sharder: Callable, tmp_path: Path
) -> None:
    """The digest of a table says which windows there are, not what they are."""
    folders = []
    for number in range(2):
        feature = feature_of().model_copy(update={"parameters": {"table_sha256": f"{number}" * 64}})
        rows = [replace(row, path=f"{number}/{row.path}") for row in windows(60, groups=30)]
        made = commit_features(
            tmp_path,
            [parquet_of(rows, feature)],
            feature,
            windows=60,
            recordings=60,
            source=f"{number}",
            engine="import",
        )
        folders.append(made.folder)
    assert 0 == sharder("plan", *folders).code


def test_the_same_input_twice_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Its windows would all be duplicates."""
    features = make_features(tmp_path, [ROWS])
    ran = sharder("run", features.folder, features.location)
    assert 65 == ran.code
    assert "the same run twice" in ran.err


def test_features_without_windows_are_refused(sharder: Callable, tmp_path: Path) -> None:
    """Nothing to shard."""
    features = make_features(tmp_path, [[]])
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert "windows of features" in ran.err


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (lambda value: value.update(version="2.0"), 65, "version 2.0"),
        (lambda value: value.update(kind="shards"), 65, "a shards manifest"),
        (lambda value: value.update(kind="cats"), 65, "'cats'"),
        (lambda value: value["files"].update(name="../files.jsonl"), 65, "files.name"),
        (lambda value: value["files"].update(sha256="0" * 64), 65, "SHA-256"),
        (lambda value: value["recipe"]["feature"].update(name="logmel"), 65, "the identity of"),
        (lambda value: value["inputs"][0].update(identity=OTHER), 65, "the identity of"),
        (lambda value: value.update(identity=OTHER), 65, f"found     {OTHER}"),
    ],
)
def test_bad_manifests_are_refused(
    sharder: Callable, tmp_path: Path, change: Callable[[dict], None], code: int, text: str
) -> None:
    """Unknown major, wrong kind, a path that leaves, a wrong checksum: told by name."""
    features = make_features(tmp_path, [ROWS])
    path = edit_manifest(features, change)
    ran = sharder("run", path)
    assert code == ran.code, ran.err
    assert text in ran.err
    assert str(tmp_path) in ran.err
    assert not (tmp_path / "shards").exists()


@pytest.mark.parametrize("name", ["label", "log-mel"])
def test_a_feature_that_records_cannot_name_is_refused(
    sharder: Callable, tmp_path: Path, name: str
) -> None:
    """Its name is taken there, or no key of every format."""
    features = make_features(tmp_path, [ROWS])
    feature = features.manifest.recipe.feature.model_copy(update={"name": name})
    relist(features, feature=feature)
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert f"found     {name!r}" in ran.err


def test_a_truncated_manifest_is_refused(sharder: Callable, tmp_path: Path) -> None:
    """Cut in the middle."""
    features = make_features(tmp_path, [ROWS])
    path = Path(features.location.path)
    path.write_bytes(path.read_bytes()[:200])
    ran = sharder("run", path)
    assert 65 == ran.code
    assert "a JSON object" in ran.err


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_missing_input_is_told(sharder: Callable, tmp_path: Path, command: str) -> None:
    """Exit code 66 and the path that was looked at."""
    ran = sharder(command, tmp_path / "features" / "nothing")
    assert 66 == ran.code
    assert f"{tmp_path}/features/nothing/manifest.json" in ran.err
