"""`gc` takes what nothing names, and nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_sharder.commands.gc import is_ours
from sharder_features import make_features, windows

DIGEST = "0123456789ab"
OURS = (
    f"shards/train-00007-{DIGEST}.tfrecord",
    f"shards/train-00007-{DIGEST}.idx.npy",
    f"shards/.train-00007-{DIGEST}.tfrecord.0123456789abcdef.part",
    f"work/segments/segments-00001-{DIGEST}-89abcdef.bin",
    f"work/segments/receipts/segments-00001-{DIGEST}.json",
    f"work/resampling/receipts/resampling-00000-{DIGEST}.json",
    f"work/segments-00001-{DIGEST}-89abcdef.bin",
    f"files-{DIGEST}.jsonl",
)
FOREIGN = (
    "notes.txt",
    ".thesis.tex.0123456789abcdef.part",
    "shards/.thesis.tex.0123456789abcdef.part",
    "shards/notes.txt",
    "work/notes.txt",
    "shards/train.tfrecord",
    "x/y.bin",
    f"shards/mine/train-00007-{DIGEST}.tfrecord",
    f"mine/shards/train-00007-{DIGEST}.tfrecord",
    f"work/mine/segments-00001-{DIGEST}-89abcdef.bin",
    f"work/receipts/mine/segments-00001-{DIGEST}.json",
)


@pytest.fixture
def run(sharder: Callable, tmp_path: Path) -> Opened:
    """A committed run, with what others and dead tries have left beside it."""
    features = make_features(tmp_path, [windows(60, groups=30)])
    opened = read_manifest(sharder("run", features.folder).out.strip(), "shards")
    for name in (*OURS, *FOREIGN):
        path = Path(opened.folder.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    _age(tmp_path, hours=48)
    return opened


def _age(folder: Path, hours: float) -> None:
    then = time.time() - hours * 3600
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_dry_run_touches_nothing(
    sharder: Callable, tmp_path: Path, run: Opened, words: list[str]
) -> None:
    """It shows what would go."""
    before = _files(tmp_path)
    ran = sharder("gc", "--root", tmp_path, *words)
    assert 0 == ran.code
    assert before == _files(tmp_path)
    for name in OURS:
        assert str(Path(run.folder.path, name)) in ran.out
    assert f"would delete {len(OURS)} files, 40 B" in ran.out


def test_only_ours_and_unnamed_goes(sharder: Callable, tmp_path: Path, run: Opened) -> None:
    """Foreign names, features and everything that the manifest names stay."""
    before = _files(tmp_path)
    ran = sharder("gc", "--root", tmp_path, "--delete", "--json")
    assert len(OURS) == len(ran.data["files"])
    assert before - {Path(run.folder.path, name) for name in OURS} == _files(tmp_path)
    assert 0 == sharder("verify", run.folder).code


@pytest.mark.parametrize("place", ["", "shards", f"shards/train-00007-{DIGEST}.tfrecord"])
def test_links_are_not_followed(sharder: Callable, tmp_path: Path, run: Opened, place: str) -> None:
    """Of the run, of a folder in it, of a file: neither the link goes nor what it leads to."""
    linked, moved = Path(run.folder.path, place), tmp_path / "elsewhere"
    linked.rename(moved)
    linked.symlink_to(moved)
    before = {path for path in _files(tmp_path) if path.is_relative_to(linked)}
    before |= _files(moved) if moved.is_dir() else {moved}
    found = sharder("gc", "--root", tmp_path, "--delete", "--older-than", "0s", "--json").data[
        "files"
    ]
    assert [] == [name for name in found if Path(name).is_relative_to(linked)]
    assert before <= _files(tmp_path) | {moved, linked}
    assert linked.is_symlink()


def test_all_that_is_written_is_known(run: Opened) -> None:
    """A new file with a name that gc does not know would never go."""
    assert [] == [entry.path for entry in run.files() if not is_ours(entry.path)]


def test_what_is_young_stays(sharder: Callable, tmp_path: Path, run: Opened) -> None:
    """A run may be writing it."""
    _age(tmp_path, hours=1)
    assert [] == sharder("gc", "--root", tmp_path, "--delete", "--json").data["files"]
    found = sharder("gc", "--root", tmp_path, "--older-than", "30m")
    assert f"gc --root {tmp_path} --delete --older-than 30m" in found.err


def test_a_run_without_manifest_keeps_its_units(
    sharder: Callable, tmp_path: Path, run: Opened
) -> None:
    """A rerun goes on from them; only temporary files go, and `list` tells of the run."""
    Path(run.location.path).unlink()
    ran = sharder("gc", "--root", tmp_path, "--delete")
    assert "deleted 1 file" in ran.out
    runs = sharder("list", "--root", tmp_path, "--json").data["runs"]
    assert [("unfinished", str(run.folder))] == [(one["state"], one["location"]) for one in runs]
    assert Path(run.folder.path, OURS[0]).exists()


def test_a_run_that_cannot_be_read_is_left_alone(
    sharder: Callable, tmp_path: Path, run: Opened
) -> None:
    """What it names is not known."""
    Path(run.location.path).write_text("{")
    assert [] == sharder("gc", "--root", tmp_path, "--delete", "--json").data["files"]


def test_delete_and_dry_run_exclude_each_other(sharder: Callable, tmp_path: Path) -> None:
    """Both is a mistake, so neither is done."""
    assert 2 == sharder("gc", "--root", tmp_path, "--delete", "--dry-run").code
