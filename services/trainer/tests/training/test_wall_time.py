"""The classes of real runs sum to the time that passed, seen from outside, within 1 %."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from audioloom_runs.run_times import wall_time
from audioloom_storage import locate
from shard_maker import make_shards
from trainer_workers import NETWORK, ForkServer, run_of

pytestmark = pytest.mark.slow

KILLED, TRY_AGAIN = -9, 75
WORDS = ("--model", NETWORK, "--batch-size", 8, "--epochs", 3, "--checkpoint-steps", 4)
MOST_ERROR = 0.01
CLOCK_S = 0.02
"""Linux counts the start of a process in hundredths of a second; a line has milliseconds."""


class Runs:
    """A root with shards, and the time that its runs took."""

    def __init__(self, forkserver: ForkServer, root: Path) -> None:
        self.forkserver, self.root = forkserver, root
        self.made = make_shards(root, records={"train": 61, "val": 23}, lanes=6)
        ready = forkserver.run("list", "--root", root)  # the first fork waits for TensorFlow
        assert 0 == ready.code, ready.err

    def attempt(self, name: str, codes: list[int], *faults: dict[str, Any]) -> tuple[float, float]:
        """Run a gang; return when it was started and when the chief wrote its last line."""
        begun = time.time()
        words = ("run", self.made.folder, *WORDS, "--name", name)
        ended = self.forkserver.gang(len(codes), *words, faults=faults)
        assert codes == [each.code for each in ended], ended[0].err
        return begun, (self.root / "runs" / name / "progress/0.jsonl").stat().st_mtime

    def seconds(self, name: str) -> dict[str, float]:
        """The wall time of a run by class."""
        return wall_time(locate(str(self.root / "runs" / name)))


@pytest.fixture
def runs(forkserver: ForkServer, tmp_path: Path) -> Runs:
    return Runs(forkserver, tmp_path)


def check(seconds: dict[str, float], passed: float) -> None:
    """Compare the sum of the classes with the time that passed outside."""
    whole = sum(seconds.values())
    print(f"{passed:.2f} s passed, {whole:.2f} s told: {seconds}")  # noqa: T201  (shown with -rP)
    assert abs(passed - whole) <= MOST_ERROR * passed
    assert min(seconds.values()) >= 0


def test_a_quiet_run(runs: Runs) -> None:
    """Nothing is lost; the manifest has the table but for what came after its last file."""
    begun, ended = runs.attempt("calm", [0, 0])
    seconds = runs.seconds("calm")
    check(seconds, ended - begun)
    assert (0.0, 0.0) == (seconds["lost_steps"], seconds["restart"])
    for name in ("importing", "tracing", "steps", "checkpoint_stall", "evaluation", "end"):
        assert seconds[name] > 0
    committed = dict(run_of(runs.root, "calm").manifest.execution.seconds)
    assert 0 < committed.pop("end") <= seconds["end"]
    assert committed == {name: pytest.approx(seconds[name], abs=0.01) for name in committed}


@pytest.mark.parametrize(
    ("codes", "faults"),
    [
        pytest.param([TRY_AGAIN, KILLED], [{}, {"kill_at_step": 13}], id="worker"),
        pytest.param([KILLED, TRY_AGAIN], [{"kill_at_step": 13}, {}], id="chief"),
        pytest.param([TRY_AGAIN, TRY_AGAIN], [{}, {"told_at_step": 13}], id="told to end"),
    ],
)
def test_a_run_that_was_killed_and_resumed(
    runs: Runs, codes: list[int], faults: list[dict[str, Any]]
) -> None:
    """Steps after the last checkpoint are lost, the time between the attempts is a restart."""
    begun, died = runs.attempt("hard", codes, *faults)
    time.sleep(2.0)
    resumed, ended = runs.attempt("hard", [0, 0])
    seconds = runs.seconds("hard")
    check(seconds, ended - begun)
    assert resumed - died - CLOCK_S <= seconds["restart"] <= ended - begun
    lines = (runs.root / "runs/hard/progress/0.jsonl").read_text().splitlines()
    starts = [line["step"] for line in map(json.loads, lines) if line["event"] == "start"]
    assert (starts[1] == 12) == (KILLED in codes)
    # A chief that is killed does not report its last seconds: they count for the restart.
    assert (seconds["lost_steps"] > 0) == (codes[1] == KILLED)
