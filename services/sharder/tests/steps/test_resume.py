"""A rerun resumes, finds a committed run, or refuses files that it cannot trust."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_sharder.steps import job
from sharder_features import make_features, windows
from sharder_runs import committed, contents

ROWS = windows(120, each=2)


def test_deleted_and_rerun_is_the_same_run(sharder: Callable, tmp_path: Path) -> None:
    """Same name, same identity, same checksums; between the two, nothing was kept."""
    features = make_features(tmp_path, [ROWS])
    first = committed(sharder("run", features.folder).out)
    data = contents(Path(first.folder.path))
    shutil.rmtree(first.folder.path)
    second = committed(sharder("run", features.folder).out)
    assert first.folder == second.folder
    assert first.manifest.identity == second.manifest.identity
    assert first.files() == second.files()
    assert data == contents(Path(second.folder.path))


def test_a_rerun_answers_already_committed(sharder: Callable, tmp_path: Path) -> None:
    """The same answer on stdout, nothing written, and no Spark."""
    features = make_features(tmp_path, [ROWS])
    first = sharder("run", features.folder)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    second = sharder("run", features.folder, "--master", "local[2]")
    assert (0, first.out) == (second.code, second.out)
    assert "already committed" in second.err
    assert "Spark" not in second.err
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_a_rerun_tells_that_files_are_gone(sharder: Callable, tmp_path: Path) -> None:
    """The manifest alone is no success: a missing shard is named, with what to do."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    gone = opened.files("shard")[0].path
    Path(opened.folder.path, gone).unlink()
    ran = sharder("run", features.folder)
    assert 65 == ran.code
    assert gone in ran.err
    assert "run again" in ran.err


@pytest.mark.parametrize("options", [(), ("--compression", "gzip")])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_shard_of_an_earlier_try_that_has_another_size_is_refused(
    sharder: Callable, tmp_path: Path, change: int, options: tuple[str, ...]
) -> None:
    """Its name says what it held once: cut short or longer, it is named and not committed."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder, *options).out)
    shard = opened.files("shard")[0]
    Path(opened.location.path).unlink()  # as if the try had ended before its commit
    os.truncate(f"{opened.folder.path}/{shard.path}", shard.bytes + change)
    ran = sharder("run", features.folder, *options)
    assert (65, "") == (ran.code, ran.out)
    assert shard.path in ran.err
    assert f"{shard.bytes} bytes" in ran.err
    assert "remove it and run again" in ran.err
    assert not Path(opened.location.path).exists()
    Path(opened.folder.path, shard.path).unlink()
    again = committed(sharder("run", features.folder, *options).out)
    assert opened.manifest.identity == again.manifest.identity


def test_nothing_between_the_steps_stays(sharder: Callable, tmp_path: Path) -> None:
    """A finished run holds its data, its list, its receipts and its manifest."""
    features = make_features(tmp_path, [ROWS])
    opened = committed(sharder("run", features.folder).out)
    names = sorted(path.name for path in Path(opened.folder.path).iterdir())
    assert [opened.manifest.files.name, "manifest.json", "receipts", "shards", "splits"] == names
    assert not (Path(opened.folder.path) / job.WORK).exists()


def test_finished_units_are_not_done_again(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that failed in its last step goes on there: neither features nor segments are made."""
    from audioloom_sharder.steps import encode, merge, rank

    features = make_features(tmp_path, [ROWS])
    whole = committed(sharder("run", features.folder, "--name", "whole").out)
    real, done = merge.make_shards, []

    def fail_at_third(*arguments: object) -> object:
        done.append(arguments[-1])
        if len(done) == 3:
            raise OSError(5, "the disk is gone")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(merge, "make_shards", fail_at_third)
    assert 0 != sharder("run", features.folder, "--name", "part").code

    def never(*_: object) -> None:
        pytest.fail("done again")

    for module, name in ((rank, "scan_source"), (rank, "rank_range"), (encode, "make_segment")):
        monkeypatch.setattr(module, name, never)
    done.append(None)
    opened = committed(sharder("run", features.folder, "--name", "part").out)
    assert contents(Path(whole.folder.path)) == contents(Path(opened.folder.path))
    units = len(list((tmp_path / "shards" / "whole" / "receipts").iterdir()))
    assert units == len(done) - 2 + 1  # the splits file


def test_two_at_once_make_one_run(sharder: Callable, tmp_path: Path) -> None:
    """Identical commands side by side: both answer the same, and the run verifies."""
    import subprocess
    import sys

    features = make_features(tmp_path, [ROWS])
    words = [
        sys.executable,
        "-c",
        "import sys; from audioloom_sharder.cli import main; sys.exit(main())",
    ]
    command = [*words, "run", str(features.folder), "--master", "inline"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(*one.communicate(), one.returncode) for one in both]
    assert [0, 0] == [code for _, _, code in ended], ended
    assert ended[0][0] == ended[1][0]
    assert 0 == sharder("verify", ended[0][0].strip()).code
