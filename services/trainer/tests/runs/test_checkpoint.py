from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from audioloom_stage.errors import NameTaken
from audioloom_storage import (
    Location,
    NotAFolder,
    StorageError,
    Unavailable,
    UnknownOutcome,
    is_temporary,
    locate,
)
from audioloom_storage_testing import Crashed, CrashPlan, steps
from audioloom_trainer.runs import checkpoint
from audioloom_trainer.runs.checkpoint import CheckpointWriter, list_checkpoints, newest_checkpoint
from trainer_program import RetryFor

RECIPE, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def run(tmp_path: Path) -> Location:
    return locate(tmp_path / "run")


def state(step: int) -> dict[str, np.ndarray]:
    """As many kinds of arrays as a model has, different at every step."""
    return {
        "state-0/dense/kernel": np.arange(12, dtype=np.float32).reshape(3, 4) * step,
        "state-1/seed": np.array([step, 7], dtype=np.uint32),
        "state-2/iteration": np.int64(step),
    }


def save(run: Location, *numbers: int, recipe: str = RECIPE, keep: int = 2) -> None:
    saver = CheckpointWriter(run, recipe, replicas=2, keep=keep)
    for step in numbers:
        saver.save(step, state(step), {"epoch": step // 8, "step": step % 8})
    saver.wait()
    saver.close()


def folder(run: Location, step: int) -> Path:
    return Path(run.path) / "checkpoints" / f"step-{step:08}"


def state_file(run: Location, step: int) -> Path:
    (path,) = folder(run, step).glob("state-*.npz")
    return path


def found(run: Location, recipe: str = RECIPE) -> int | None:
    """The step of the newest whole checkpoint, whose state is held against what was saved."""
    saved = newest_checkpoint(run, recipe)
    if saved is None:
        return None
    expected = state(saved.record.step)
    assert list(expected) == list(saved.state)
    for name, array in expected.items():
        assert array.dtype == saved.state[name].dtype
        np.testing.assert_array_equal(array, saved.state[name])
    return saved.record.step


def test_without_a_checkpoint_there_is_none(run: Location) -> None:
    """No folder, an empty one, one with strangers in it."""
    assert found(run) is None
    Path(run.path, "checkpoints").mkdir(parents=True)
    assert found(run) is None
    Path(run.path, "checkpoints", "notes.txt").write_text("mine")
    Path(run.path, "checkpoints", "step-12").mkdir()
    Path(run.path, "checkpoints", "step-00000003").write_text("not a folder")
    assert found(run) is None


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("change", [cut, flip, lengthen, Path.unlink])
def test_a_damaged_state_falls_back_to_the_one_before(
    run: Location, change: Callable[[Path], object]
) -> None:
    """And when that one is damaged too, to the start."""
    save(run, 4, 8)
    assert 8 == found(run)
    change(state_file(run, 8))
    assert 4 == found(run)
    change(state_file(run, 4))
    assert found(run) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        "{" * 100_000,
        '{"kind": "checkpoint", "version": "2.0"}',
        '{"kind": "shards", "version": "1.0"}',
    ],
)
def test_a_damaged_record_falls_back_to_the_one_before(run: Location, text: str) -> None:
    """What is no commit record, or one of another major version, is none of ours."""
    save(run, 4, 8)
    (folder(run, 8) / "commit.json").write_text(text)
    assert 4 == found(run)


@pytest.mark.parametrize("name", ["../../../x.npz", "state-zzzzzzzzzzzz.npz", "/etc/passwd"])
def test_a_record_cannot_name_a_file_elsewhere(run: Location, name: str) -> None:
    """It is data from outside."""
    save(run, 4, 8)
    where = folder(run, 8) / "commit.json"
    record = json.loads(where.read_text())
    record["state"]["name"] = name
    where.write_text(json.dumps(record))
    assert 4 == found(run)


def test_another_recipe_is_refused_by_name(run: Location) -> None:
    """Going on from it would make a model that nobody asked for."""
    save(run, 4)
    with pytest.raises(NameTaken, match="step-00000004"):
        found(run, OTHER)


def test_only_the_newest_are_kept(run: Location) -> None:
    """With a record and a state each, and nothing else."""
    save(run, *range(2, 12, 2), keep=3)
    assert [10, 8, 6] == [commit.step for _, commit in list_checkpoints(run) if commit]
    names = {path.name for path in Path(run.path, "checkpoints").iterdir()}
    assert {"step-00000006", "step-00000008", "step-00000010"} == names


def test_a_whole_checkpoint_is_not_written_again(run: Location) -> None:
    """A run that goes on from a step may come to save it once more."""
    save(run, 4, 8)
    before = {path: path.stat().st_mtime_ns for path in folder(run, 8).iterdir()}
    save(run, 8)
    assert before == {path: path.stat().st_mtime_ns for path in folder(run, 8).iterdir()}


def test_a_damaged_checkpoint_is_written_again(run: Location) -> None:
    """It would be passed over for ever otherwise."""
    save(run, 4, 8)
    flip(state_file(run, 8))
    save(run, 8)
    assert 8 == found(run)


@pytest.mark.parametrize("keep", [1, 2])
def test_a_damaged_checkpoint_pushes_out_none_that_is_written(run: Location, keep: int) -> None:
    """Its step is higher than those of the training that goes on without it."""
    save(run, 12)
    flip(state_file(run, 12))
    for step in (4, 8):
        save(run, step, keep=keep)
        assert step == found(run)
    assert keep == len(list(list_checkpoints(run)))


def test_a_failure_to_write_is_told_by_the_next_save(run: Location) -> None:
    """Once; the training that goes on would have nothing to go back to."""
    Path(run.path).mkdir()
    Path(run.path, "checkpoints").write_text("in the way")
    saver = CheckpointWriter(run, RECIPE, replicas=1, keep=2)
    saver.save(4, state(4), {})
    with pytest.raises(OSError, match="checkpoints"):
        saver.save(8, state(8), {})
    saver.close()


@pytest.mark.parametrize("error", [Unavailable, UnknownOutcome])
@pytest.mark.parametrize("landed", [False, True])
def test_storage_that_goes_away_is_waited_for(
    run: Location,
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
    error: type[StorageError],
    landed: bool,
) -> None:
    """Whether what was asked for was done before it went or not, the checkpoint is there once."""
    real, failures = checkpoint.publish, [error("gone"), error("gone")]

    def failing(where: Location, data: bytes) -> None:
        if landed:
            real(where, data)
        if failures:
            raise failures.pop()
        real(where, data)

    monkeypatch.setattr(checkpoint, "publish", failing)
    retry_for(60.0, first_pause=0.001)
    saver = CheckpointWriter(run, RECIPE, replicas=1, keep=2)
    saver.save(4, state(4), {})
    saver.wait()
    saver.close()
    assert 4 == found(run)


def test_who_ends_waits_for_storage_no_longer(
    run: Location, monkeypatch: pytest.MonkeyPatch, retry_for: RetryFor
) -> None:
    """A peer may have been lost meanwhile, and all wait for this process."""
    retry_for(10_000.0)
    asked = threading.Event()

    def away(_: Location, __: bytes) -> None:
        asked.set()
        raise Unavailable("gone")

    monkeypatch.setattr(checkpoint, "publish", away)
    saver = CheckpointWriter(run, RECIPE, replicas=1, keep=2)
    saver.save(4, state(4), {})
    assert asked.wait(60.0)
    saver.close()
    assert None is found(run)


FOREIGN = ("NOTES.md", ".thesis.tex.0123456789abcdef.part", "mine/commit.json", "state.npz")


def put(where: Path, *names: str) -> None:
    """Files of such names."""
    for name in names:
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text("mine")


def names(where: Path) -> set[str]:
    return {str(path.relative_to(where)) for path in where.rglob("*") if path.is_file()}


@pytest.mark.parametrize("way", ["forgotten", "damaged", "half"])
def test_files_of_others_stay_where_a_checkpoint_goes(run: Location, way: str) -> None:
    """One that is old, or whose record or state is damaged: what the trainer wrote goes alone."""
    save(run, 4)
    where = folder(run, 4)
    put(where, *FOREIGN, ".commit.json.0123456789abcdef.part")
    if way == "forgotten":
        save(run, 8, keep=1)
        assert {*FOREIGN} == names(where)
        return
    flip(state_file(run, 4))
    if way == "half":
        (where / "commit.json").unlink()
    save(run, 4)
    assert {*FOREIGN, "commit.json", state_file(run, 4).name} == names(where)
    assert 4 == found(run)


def test_a_forgotten_checkpoint_that_holds_a_link_stays_as_a_folder(
    run: Location, tmp_path: Path
) -> None:
    """A link is not ours, whatever it is called, and neither is what it leads to."""
    save(run, 4)
    put(tmp_path / "elsewhere", "commit.json", "x")
    link = folder(run, 4) / f"state-{'0' * 12}.npz"
    link.symlink_to(tmp_path / "elsewhere/x")
    save(run, 8, keep=1)
    assert [link] == list(folder(run, 4).iterdir())
    assert {"commit.json", "x"} == names(tmp_path / "elsewhere")


@pytest.mark.parametrize("place", ["runs", "runs/run", "runs/run/checkpoints"])
def test_a_checkpoint_behind_a_link_is_not_forgotten(tmp_path: Path, place: str) -> None:
    """Of the run, or above or below it: it may be another's, whose names are the same."""
    moved, run = tmp_path / "elsewhere", locate(tmp_path / "root/runs/run")
    save(run, 4)
    linked = tmp_path / "root" / place
    linked.rename(moved)
    linked.symlink_to(moved)
    before = names(moved)
    save(run, 8, keep=1)
    assert before < names(moved)
    assert 8 == found(run)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_linked_checkpoint_is_none_of_the_runs(
    run: Location, tmp_path: Path, damaged: bool
) -> None:
    """It is not read, counted or removed, and none is written through the link."""
    other = locate(tmp_path / "other")
    save(other, 4)
    if damaged:
        flip(state_file(other, 4))
    before = names(Path(other.path))
    folder(run, 4).parent.mkdir(parents=True)
    folder(run, 4).symlink_to(folder(other, 4))
    assert [] == list(list_checkpoints(run))
    save(run, 8, keep=1)
    assert [8] == [commit.step for _, commit in list_checkpoints(run) if commit]
    with pytest.raises(NotAFolder, match="step-00000004"):
        save(run, 4)
    assert (before, True) == (names(Path(other.path)), folder(run, 4).is_symlink())


def test_the_commit_record_comes_last(run: Location, tmp_path: Path) -> None:
    """Cut the power at every step of a third save: the third, or the second, is there whole."""
    with steps(tmp_path / "count") as taken:
        save(run, 4, 8)
        two = taken.count
        save(run, 12)
    for number in range(1, taken.count - two + 1):
        here = locate(tmp_path / f"run-{number}")
        save(here, 4, 8)
        with CrashPlan(tmp_path / f"counter-{number}", number).armed(), pytest.raises(Crashed):
            save(here, 12)
        left = found(here)
        assert left in (8, 12)
        committed = (folder(here, 12) / "commit.json").exists()
        assert (left == 12) == committed
        save(here, 12, 16)
        assert [16, 12] == [commit.step for _, commit in list_checkpoints(here) if commit]
        kept = [path for path in folder(here, 12).iterdir() if is_temporary(path.name)]
        assert committed or not kept
