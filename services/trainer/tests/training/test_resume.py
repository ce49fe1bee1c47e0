"""Killed, told to end, started again with other replicas: the run ends as if nothing happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from shard_maker import make_shards
from trainer_workers import NETWORK, ForkServer, difference, run_of, weights_of

KILLED, TRY_AGAIN = -9, 75
# 3 epochs of 8 steps, the last of each short; every other checkpoint lies at the end of an epoch.
WORDS = ("--model", NETWORK, "--batch-size", 8, "--epochs", 3, "--checkpoint-steps", 4)
DROPOUT = ("--model-arg", "dropout=0.3")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    root = tmp_path_factory.mktemp("resume")
    made = make_shards(root, records={"train": 61, "val": 23}, lanes=6)
    return ("run", made.folder, *WORDS)


def _root(words: tuple[Any, ...]) -> Path:
    return Path(words[1].path).parent.parent


def _attempt(
    forkserver: ForkServer, size: int, *words: object, faults: tuple[Mapping[str, int], ...] = ()
) -> list[int]:
    return [each.code for each in forkserver.gang(size, *words, faults=faults)]


KILLS = [
    (({}, {"kill_at_step": 13}), [TRY_AGAIN, KILLED]),
    (({"kill_at_step": 17}, {}), [KILLED, TRY_AGAIN]),
    (({"kill_all_at_step": 21}, {}), [KILLED, KILLED]),
]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [[], KILLS], ids=["told", "killed"])
def test_a_gang_that_was_ended_goes_on_to_the_same_bits(
    forkserver: ForkServer, tmp_path: Path, kills: list[tuple[Any, list[int]]]
) -> None:
    """SIGTERM, then kill -9 of a worker, of the chief, of both: the run that was never ended.

    The last attempt's second worker gets its checkpoint from the chief and never asks storage.
    """
    made = make_shards(tmp_path, records={"train": 61, "val": 23}, lanes=6)
    words = ("run", made.folder, *WORDS, *DROPOUT)
    undisturbed, ended = (*words, "--name", "calm"), (*words, "--name", "hard")
    assert [0, 0] == _attempt(forkserver, 2, *undisturbed)
    told = ({}, {"told_at_step": 5})
    assert [TRY_AGAIN, TRY_AGAIN] == _attempt(forkserver, 2, *ended, faults=told)
    folder = tmp_path / "runs" / "hard"
    stopped = _events(folder, 0, "stopped")[0]["step"]
    assert stopped in _checkpoints(folder)
    for faults, codes in kills:
        assert codes == _attempt(forkserver, 2, *ended, faults=faults)
    assert not (folder / "manifest.json").exists()
    assert [0, 0] == _attempt(forkserver, 2, *ended, faults=({}, {"blind": True}))
    starts = [event["step"] for event in _events(folder, 0, "start")]
    assert [0, stopped] == starts[:2]  # told to end, it lost nothing
    assert 2 + len(kills) == len(starts)
    assert sorted(starts) == starts
    calm, hard = run_of(tmp_path, "calm"), run_of(tmp_path, "hard")
    assert 0.0 == difference(weights_of(calm), weights_of(hard))
    assert calm.manifest.identity == hard.manifest.identity


@pytest.mark.slow
def test_another_number_of_replicas_goes_on(forkserver: ForkServer, words: tuple[Any, ...]) -> None:
    """Begun by two, gone on with by one, ended by three: the weights of one that never stopped."""
    changed = (*words, "--name", "changed")
    assert [0] == _attempt(forkserver, 1, *words, "--name", "one")
    both = ({"kill_all_at_step": 9}, {})
    assert [KILLED, KILLED] == _attempt(forkserver, 2, *changed, faults=both)
    assert [KILLED] == _attempt(forkserver, 1, *changed, faults=({"kill_at_step": 17},))
    assert [0, 0, 0] == _attempt(forkserver, 3, *changed)
    folder = _root(words) / "runs" / "changed"
    begun, gone_on, ended = (event["step"] for event in _events(folder, 0, "start"))
    assert 0 == begun < gone_on < ended
    one, other = run_of(_root(words), "one"), run_of(_root(words), "changed")
    found = difference(weights_of(one), weights_of(other))
    print(f"weights differ by {found:.1e}")  # noqa: T201  (shown with -rP)
    assert found <= 1e-6
    mine, theirs = one.manifest.stats.scores["val"], other.manifest.stats.scores["val"]
    assert mine == pytest.approx(theirs, abs=1e-5)


def _checkpoints(run: Path) -> set[int]:
    return {int(path.parent.name[5:]) for path in run.glob("checkpoints/*/commit.json")}


def _events(run: Path, rank: int, event: str) -> list[dict[str, Any]]:
    lines = (run / "progress" / f"{rank}.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == event]
