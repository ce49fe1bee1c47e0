from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_storage import AlreadyExists, Location, exists, locate, publish, remove
from audioloom_storage_testing import Crashed, MemoryStore, Schedule

FOLDER = locate("/simulated")


def writer(number: int) -> Callable[[], int]:
    """One of those that race for a name."""

    def write() -> int:
        publish(FOLDER / "one", b"%d" % number)
        return number

    return write


def race(seed: int, crash: float = 0.0) -> tuple[list[object], list[str], bytes | None]:
    """Three writers of one name: how they ended, the steps, and what is there."""
    schedule = Schedule(seed, crash=crash)
    store = MemoryStore(schedule.pause)
    with store.installed():
        ended = schedule.run([writer(number) for number in range(3)])
    told = [type(end.error) if end.error else end.value for end in ended]
    # What an unfinished file is called is left to chance.
    steps = [line.partition(".part")[0][:12] for line in schedule.trace]
    return told, steps, store.peek(FOLDER / "one")


def test_a_seed_is_an_order() -> None:
    """The same again each time, and not that of every other seed."""
    assert race(1) == race(1)
    assert len({tuple(race(seed)[1]) for seed in range(20)}) > 15


def test_one_of_three_wins_in_every_order() -> None:
    """And every one of them wins in some."""
    winners = set()
    for seed in range(60):
        told, _, found = race(seed)
        assert 2 == told.count(AlreadyExists)
        (winner,) = (each for each in told if each is not AlreadyExists)
        assert b"%d" % winner == found  # type: ignore[str-bytes-safe]
        winners.add(winner)
    assert {0, 1, 2} == winners


def test_some_die_and_the_others_go_on() -> None:
    """A crash ends one task, at any of its steps."""
    told = [each for seed in range(60) for each in race(seed, crash=0.1)[0]]
    assert told.count(Crashed) > 20
    assert told.count(AlreadyExists) > 20


def test_only_the_first_tasks_are_mortal() -> None:
    """A reader that dies would have seen nothing wrong."""
    for seed in range(20):
        schedule = Schedule(seed, crash=0.9)
        with MemoryStore().installed():
            ended = schedule.run([writer(0), lambda: exists(FOLDER)], mortal=1)
        assert ended[0].crashed
        assert ended[1].error is None


def test_the_watch_looks_between_the_steps() -> None:
    """While nobody else runs, and its own looks are no steps."""
    seen: list[bool] = []
    schedule = Schedule(1, watch=lambda: seen.append(exists(FOLDER / "one")))
    with MemoryStore().installed():
        schedule.run([writer(0), lambda: remove(FOLDER / "none")])
    assert len(schedule.trace) == len(seen)
    assert {False, True} == set(seen)


def test_errors_are_told_and_end_only_their_task(here: Location, tmp_path: Path) -> None:
    """On a local folder as well: the schedule knows no storage."""

    def fail() -> None:
        publish(here / "a", b"")
        raise LookupError("of the task")

    ended = Schedule(3).run([fail, lambda: publish(here / "b", b"")])
    assert isinstance(ended[0].error, LookupError)
    assert ended[1].error is None
    assert ["a", "b"] == sorted(path.name for path in tmp_path.iterdir())


def test_outside_of_a_run_steps_pass() -> None:
    """What is looked at before and after is no part of the schedule."""
    schedule = Schedule(1, crash=1.0)
    schedule.pause("look", FOLDER)
    assert [] == schedule.trace
    with pytest.raises(Crashed):
        raise next(end.error for end in schedule.run([writer(0)]) if end.error)
