from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from audioloom_featurizer.commands import trace as trace_module
from audioloom_featurizer.commands.trace import trace as trace_command
from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.settings import TraceSettings
from audioloom_manifest.reader import Opened
from audioloom_storage import NotFound, PermissionDenied
from featurizer_work import features_of, header_only, scan, write_wav
from manifest_editing import write_manifest

CASES = Path(__file__).parents[4] / "shared/contracts/conformance/cases"


def descend(kind: str, folder: Path, identity: str) -> str:
    """A manifest of a later stage below *folder*, made from one input: its identity."""
    manifest = json.loads((CASES / f"{kind}-minimal" / "input/manifest.json").read_text())
    manifest["inputs"][0]["identity"] = identity
    manifest["name"] = folder.name
    return write_manifest(folder, manifest)


def chain(features: Opened, root: Path, name: str) -> None:
    """Shards of these features, and a training run of the shards."""
    shards = descend("shards", root / "shards" / f"{name}-shards", features.manifest.identity)
    descend("training-run", root / "runs" / f"{name}-run", shards)


def trace(*roots: Path, **wanted: object) -> dict[str, list]:
    first, *more = map(str, roots)
    asked = TraceSettings(root=first, more_roots=tuple(more), **wanted)
    return dict(trace_command(asked).data)


def found(data: dict[str, list]) -> list[tuple[str, ...]]:
    return [(run["kind"], Path(run["location"]).name, run["state"]) for run in data["runs"]]


def test_nothing_is_looked_for_without_a_word_of_what(root: Path) -> None:
    """Neither an empty wish, nor a pattern that is none, nor a root that is not there."""
    root.mkdir()
    with pytest.raises(InvalidOption, match="--group"):
        trace(root)
    with pytest.raises(InvalidOption, match=r"--path"):
        trace(root, path="(")
    with pytest.raises(NotFound):
        trace(root / "no", group=("s0",))


def test_a_group_is_found_in_all_that_was_made_of_it(source: Path, root: Path) -> None:
    """And in nothing else: another archive under the same root has no part in it."""
    write_wav(source / "no" / "s0-again.wav", 2.5, seed=9)
    mine = features_of(source, root, windows="all")
    write_wav(source.parent / "other" / "no" / "s9-take.wav")
    other = features_of(source.parent / "other", root)
    chain(mine, root, "mine")
    chain(other, root, "other")
    data = trace(root, group=("s0",))
    assert [
        ("recordings", mine.manifest.inputs[0].name, "holds"),
        ("features", mine.manifest.name, "holds"),
        ("shards", "mine-shards", "made-from"),
        ("training-run", "mine-run", "made-from"),
    ] == found(data)
    assert (2, 4) == (data["runs"][1]["recordings"], data["runs"][1]["windows"])
    uri = source.resolve().as_uri()
    assert [f"{uri}/no/s0-again.wav", f"{uri}/yes/s0-take.wav"] == data["recordings"]
    assert [] == trace(root, group=("s7",))["runs"]


def test_a_path_is_described_as_a_whole(source: Path, root: Path) -> None:
    """As --pattern does; and what was refused is found in the ledger."""
    header_only(source / "no" / "s8-bad.wav")
    opened = features_of(source, root, error_budget="1")
    assert [] == trace(root, path="s8")["runs"]
    by_path = trace(root, path=".*/s8-.*")
    assert by_path == trace(root, group=("s8",))
    assert [("recordings", 1, 0), ("features", 1, 0)] == [
        (run["kind"], run["recordings"], run["windows"]) for run in by_path["runs"]
    ]
    assert opened.manifest.stats.refused == 1


def test_what_lies_under_another_root_is_found_there(source: Path, root: Path) -> None:
    """By identity: one root alone leaves open what its shards were made of."""
    features = features_of(source, root)
    away = root.parent / "away"
    chain(features, away, "mine")
    assert [("shards", "mine-shards", "made-from"), ("training-run", "mine-run", "made-from")] == (
        found(trace(away, root, group=("s0",)))[2:]
    )
    assert {"cannot-tell"} == {run["state"] for run in trace(away, group=("s0",))["runs"]}
    assert [] == trace(away, root, group=("s7",))["runs"]


def test_what_cannot_be_known_is_said(source: Path, root: Path) -> None:
    """A run that is not committed, one that is damaged, and whatever descends from it."""
    features = features_of(source, root)
    chain(features, root, "mine")
    (root / "features" / "killed").mkdir()
    next((root / "recordings").glob("*/inventory-*.parquet")).write_bytes(b"rotten")
    next(Path(features.folder.path, "features").iterdir()).write_bytes(b"PAR1")
    data = trace(root, group=("s7",))
    assert 5 == len(data["runs"])
    assert {"cannot-tell"} == {run["state"] for run in data["runs"]}
    details = [run["detail"] for run in data["runs"] if run["location"].endswith("killed")]
    assert ["not committed"] == details


def test_a_file_that_another_user_keeps_closed_cannot_be_told_of(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run is one of many, and does not end the search of the others."""
    features_of(source, root)

    def closed(*_: object) -> object:
        raise PermissionDenied("not yours", where="inventory")

    monkeypatch.setattr(trace_module, "inventory_location", closed)
    data = trace(root, group=("s0",))
    assert "cannot-tell" == data["runs"][0]["state"]
    assert "features" == data["runs"][1]["kind"]


def test_without_the_recordings_the_features_are_read(source: Path, root: Path) -> None:
    """They know groups; a ledger does not."""
    features_of(source, root)
    shutil.rmtree(root / "recordings")
    assert [("features", "holds")] == [
        (kind, state) for kind, _, state in found(trace(root, group=("s0",)))
    ]
    assert [] == trace(root, group=("s7",))["runs"]
    header_only(source / "no" / "s8-bad.wav")
    features_of(source, root, error_budget="1")
    shutil.rmtree(root / "recordings")
    assert ["cannot-tell"] == [state for *_, state in found(trace(root, group=("s7",)))]


def test_a_listing_that_goes_on_from_another_holds_its_own_alone(source: Path, root: Path) -> None:
    """`--since` names the earlier one as its input, and none of its recordings."""
    first = scan(source, root)
    write_wav(source / "no" / "s9-late.wav")
    later = scan(source, root, since=str(first.text))
    assert [Path(str(later.text)).parent.name] == [
        name for _, name, _ in found(trace(root, group=("s9",)))
    ]
    assert [Path(str(first.text)).parent.name] == [
        name for _, name, _ in found(trace(root, group=("s0",)))
    ]


def test_it_is_shown_in_lines_that_are_one_each(source: Path, root: Path) -> None:
    """Kind, state, counts and place of a run; then the recordings, whatever their names hold."""
    features = features_of(source, root)
    asked = TraceSettings(root=str(root), group=("s0",))
    lines = list(trace_command(asked).text)
    assert 3 == len(lines)
    kind, state, *counts, place = lines[1].split()
    assert ("features", "holds", str(features.folder)) == (kind, state, place)
    assert "1 recording, 1 window" == " ".join(counts)
    assert f"recording  {source.resolve().as_uri()}/yes/s0-take.wav" == lines[2]
