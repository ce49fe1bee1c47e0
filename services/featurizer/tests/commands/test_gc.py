from __future__ import annotations

import re
from pathlib import Path

import pytest
from audioloom_featurizer.commands.gc import gc, is_ours
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.commands.list import list_runs
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.settings import (
    GcSettings,
    InspectSettings,
    ListSettings,
    VerifySettings,
)
from audioloom_stage.errors import InputMissing
from featurizer_work import features_of, header_only, scan


def settings_of(root: Path, **how: object) -> GcSettings:
    return GcSettings.model_validate({"root": str(root), **how})


def test_garbage_goes_and_the_run_stays(source: Path, root: Path) -> None:
    """Only what no manifest names is found, and nothing young."""
    opened = features_of(source, root)
    left = Path(opened.folder.path, "features", f"features-{'0' * 16}-{'1' * 12}.parquet")
    left.write_bytes(b"x")

    def collect(**how: object) -> dict:
        return dict(gc(settings_of(root, **how)).data)

    assert [] == collect(dry_run=True)["files"]
    assert [str(left)] == collect(dry_run=True, older_than="0s")["files"]
    assert left.exists()
    assert [str(left)] == collect(delete=True, older_than="0s")["files"]
    assert not left.exists()
    verify(VerifySettings(manifest=str(opened.location)))


SCAN = f"scratch/scan-{'0' * 32}"
SCRATCH = (
    f"{SCAN}/{'1' * 32}.parquet",
    f"{SCAN}/.{'1' * 32}.parquet.0123456789abcdef.part",
    f"{SCAN}/labels/part-00000-0e7c1f3a-c000.snappy.parquet",
    f"{SCAN}/labels/_temporary/0/task_1/part-00000-0e7c1f3a-c000.snappy.parquet",
    f"{SCAN}/labels/_SUCCESS",
    f"{SCAN}/windows/part-00000-0e7c1f3a-c000.snappy.parquet",
)
FOREIGN = (
    "scratch/thesis.tex",
    "scratch/.thesis.tex.0123456789abcdef.part",
    f"{SCAN}/.thesis.tex.0123456789abcdef.part",
    "features/{run}/.thesis.tex.0123456789abcdef.part",
    "scratch/scan-mine/data.parquet",
    f"{SCAN}/NOTES.md",
    f"{SCAN}/labels/NOTES.md",
    "features/{run}/NOTES.md",
    "features/{run}/features/features-0-lost.parquet",
    "features/{run}/features/deep/features-0000000000000000-111111111111.parquet",
)


def test_files_of_others_stay(source: Path, root: Path) -> None:
    """Below a run, and below scratch/ too: only names that we give go."""
    run = features_of(source, root).manifest.name
    for name in (*SCRATCH, *FOREIGN):
        path = root / name.format(run=run)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    settings = settings_of(root, delete=True, older_than="0s")
    found = dict(gc(settings).data)["files"]
    assert {str(root / name) for name in SCRATCH} == set(found)
    assert all((root / name.format(run=run)).exists() for name in FOREIGN)
    assert not any((root / name).exists() for name in SCRATCH)


@pytest.mark.parametrize("link", ["scratch", SCAN, f"{SCAN}/{'1' * 32}.parquet"])
def test_scratch_is_not_followed_elsewhere(
    source: Path, root: Path, tmp_path: Path, link: str
) -> None:
    """What a link leads to is not ours, whatever it is called; the link is not either."""
    features_of(source, root)
    elsewhere = tmp_path / "elsewhere"
    victim = elsewhere / f"{SCAN}/{'1' * 32}.parquet"
    victim.parent.mkdir(parents=True)
    victim.write_bytes(b"x")
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(elsewhere / link)
    settings = settings_of(root, delete=True, older_than="0s")
    assert [] == dict(gc(settings).data)["files"]
    assert victim.exists()
    assert (root / link).is_symlink()


def test_all_that_is_written_is_known(source: Path, root: Path) -> None:
    """A new file with a name that gc does not know would never go."""
    header_only(source / "no" / "s8-bad.wav")
    opened = features_of(source, root, error_budget="1")
    recordings = root.glob("recordings/*/*.parquet")
    paths = [entry.path for entry in opened.files()] + [path.name for path in recordings]
    assert [] == [path for path in paths if not is_ours(path)]
    assert {"features", "inventory", "ledger", "units"} == {re.split("[-/.]", p)[0] for p in paths}


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    """A slip in the path is not an empty list."""
    with pytest.raises(InputMissing):
        list_runs(ListSettings(root=str(tmp_path / "no")))


def test_list_tells_finished_from_unfinished_and_unreadable(source: Path, root: Path) -> None:
    """One line a run of either kind, the newest last."""
    opened = features_of(source, root)
    (root / "features" / "killed").mkdir()
    (root / "features" / "torn").mkdir()
    (root / "features" / "torn" / "manifest.json").write_text('{"kind": "feat')
    runs = list_runs(ListSettings(root=str(root))).data["runs"]
    assert isinstance(runs, list)
    states = {each["name"]: each["state"] for each in runs}
    assert "committed" == states[opened.manifest.name]
    assert ("unfinished", "unreadable") == (states["killed"], states["torn"])
    assert {"recordings", "features"} == {each["kind"] for each in runs}
    changed = [each["changed"] or "" for each in runs]
    assert sorted(changed) == changed


def test_inspect_says_why_a_recording_was_refused(source: Path, root: Path) -> None:
    """Path, class and reason, one line each."""
    header_only(source / "no" / "s8-bad.wav")
    opened = features_of(source, root, error_budget="1")
    result = inspect(InspectSettings(manifest=str(opened.folder), ledger=True))
    lines = list(result.text)
    assert lines[-1].startswith("refused empty: no/s8-bad.wav: expected samples")
    assert opened.manifest.name in lines[0]


def test_inspect_recordings(source: Path, root: Path) -> None:
    """Counts and labels."""
    lines = list(inspect(InspectSettings(manifest=str(scan(source, root).text))).text)
    assert any(line.split() == ["yes", "4"] for line in lines)


def test_a_name_cannot_write_to_the_terminal(source: Path, root: Path) -> None:
    """A line break or an escape code in a name is shown as such, on one line."""
    header_only(source / "no" / "s8-\x1b[2J\nbad.wav")
    opened = features_of(source, root, error_budget="1")
    result = inspect(InspectSettings(manifest=str(opened.folder), ledger=True))
    last = list(result.text)[-1]
    assert last.isprintable()
    assert r"\x1b[2J\nbad.wav" in last
