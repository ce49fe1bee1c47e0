"""Power cut at every numbered step: no manifest or one that verifies, and a rerun works."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from audioloom_manifest.file_list import check_files
from audioloom_manifest.reader import read_manifest
from audioloom_storage import is_temporary
from audioloom_storage_testing import CrashPlan
from shard_maker import make_shards
from trainer_workers import NETWORK, ForkServer

NEVER = 10**9
Mode = Literal["raise", "kill"]


class Crashing:
    """A run of five steps and three checkpoints, of which one is forgotten."""

    def __init__(self, forkserver: ForkServer, folder: Path) -> None:
        self._forkserver, self._folder = forkserver, folder
        made = make_shards(folder / "root", records={"train": 9}, lanes=3)
        self._words = ("run", made.folder, "--model", NETWORK, "--name", "run", "--epochs", 1)
        self._words += ("--batch-size", 2, "--checkpoint-steps", 2, "--keep-checkpoints", 2)
        self.run_folder = folder / "root" / "runs" / "run"
        self.steps = self.crash(NEVER, code=0)
        self.identity = self._committed().manifest.identity

    def crash(self, number: int, mode: Mode = "raise", code: int | None = None) -> int:
        """Run until a step, which has to end the process; answer how many steps were taken."""
        counter = self._folder / "counter"
        counter.unlink(missing_ok=True)
        plan = CrashPlan(counter, number, mode)
        # What is written does not depend on the time, or the steps could not be counted.
        ended = self._forkserver.run(*self._words, environment=plan.environment(), timeless=True)
        expected = {"kill": -9, "raise": 70}[mode] if code is None else code
        assert expected == ended.code, (number, ended.err)
        return counter.stat().st_size

    def check(self) -> None:
        """What was left is right, and a rerun makes the run that would have been."""
        if (self.run_folder / "manifest.json").exists():
            assert self.identity == self._committed().manifest.identity
        again = self._forkserver.run(*self._words)
        assert 0 == again.code, again.err
        assert self.identity == self._committed().manifest.identity

    def clear(self) -> None:
        """Forget the run."""
        shutil.rmtree(self.run_folder, ignore_errors=True)

    def sweep(self) -> list[Path]:
        """Collect garbage; answer the temporary files that it left."""
        words = ("gc", "--root", self._folder / "root", "--delete", "--older-than", "0s")
        assert 0 == self._forkserver.run(*words).code
        self._committed()
        return [path for path in self.run_folder.rglob("*") if is_temporary(path.name)]

    def _committed(self) -> Any:
        opened = read_manifest(str(self.run_folder), expect="training-run")
        assert [] == list(check_files(opened.folder, opened.files()))
        return opened


@pytest.fixture(scope="module")
def crashing(forkserver: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Crashing:
    return Crashing(forkserver, tmp_path_factory.mktemp("crashes"))


def _sample(last: int) -> list[int]:
    """A step in the middle, and the last two: the commit."""
    return [last // 2, last - 1, last]


def _crash_at(crashing: Crashing, number: int, mode: Mode) -> None:
    crashing.clear()
    crashing.crash(number, mode)
    crashing.check()


def test_a_power_cut_at_some_steps(crashing: Crashing) -> None:
    """A sample of all steps, in turn with an exception that nothing survives and with SIGKILL."""
    assert crashing.steps > 60
    for position, number in enumerate(_sample(crashing.steps)):
        _crash_at(crashing, number, "kill" if position % 2 else "raise")
    assert [] == crashing.sweep()


@pytest.mark.slow
def test_a_power_cut_of_the_second_try_too(crashing: Crashing) -> None:
    """Cut, started again, cut again: the third try finishes what both left."""
    crashing.clear()
    for number in (crashing.steps // 2, crashing.steps // 3):
        crashing.crash(number, "kill")
    crashing.check()
    assert [] == crashing.sweep()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["raise", "kill"])
def test_a_power_cut_at_every_step(crashing: Crashing, mode: Mode) -> None:
    """All of them."""
    for number in range(1, crashing.steps + 1):
        _crash_at(crashing, number, mode)
    assert [] == crashing.sweep()
