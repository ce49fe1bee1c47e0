import math

import pytest
from audioloom_yarn_launcher.coordinator.timeouts import (
    FailureDetector,
    FormationTimer,
    Limits,
    pause_s,
)
from audioloom_yarn_launcher.coordinator.transitions import frozen
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Put
from audioloom_yarn_launcher.rendezvous.messages import Exit, Member, Membership, Reports
from hypothesis import given
from hypothesis import strategies as st

LIMITS = Limits(registration_s=10, allocation_s=100)
SECONDS = st.floats(0, 1e6)


class Formation:
    """A gang that forms from second 0 on, with so many workers without a container."""

    def __init__(self, limits: Limits = LIMITS, chance: float = 0.0) -> None:
        self.now, self.pending = 0.0, 1
        self.timer = FormationTimer(
            lambda: self.pending, limits, clock=lambda: self.now, chance=lambda: chance
        )

    def left(self, now: float, pending: int) -> float:
        self.now, self.pending = now, pending
        return self.timer.left()


def test_who_waits_for_a_place_is_not_late() -> None:
    """The time in which all must come begins when the last of them has got its container."""
    gang = Formation()
    assert (50, "allocation") == (gang.left(50, pending=1), gang.timer.part)
    assert (10, "registration") == (gang.left(60, pending=0), gang.timer.part)
    assert -1 == gang.left(71, pending=0)


def test_localising_begins_with_the_last_container() -> None:
    """No second of it has passed while a worker waits for its container."""
    gang = Formation()
    gang.left(50, pending=1)
    assert 0.0 == gang.timer.localising_s
    gang.left(60, pending=0)
    gang.left(64, pending=0)
    assert 4.0 == gang.timer.localising_s


def test_of_two_that_wait_for_each_other_one_gives_back_first() -> None:
    """Chance says which: both have waited as long as they were told to, one of them longer."""
    hasty, patient = Formation(chance=0.0), Formation(chance=1.0)
    assert (0, 25) == (hasty.left(100, pending=1), patient.left(100, pending=1))
    assert 10 == patient.left(120, pending=0)  # who has its place is late as ever


@given(st.integers(0, 5000), st.floats(0, 1))
def test_what_is_started_anew_pauses_longer_each_time(restarts: int, chance: float) -> None:
    """For half of that or more, by chance, and never for longer than a minute."""
    most = pause_s(restarts, lambda: 1.0)
    assert min(2**restarts, 120) / 2 == most
    assert most / 2 <= pause_s(restarts, lambda: chance) <= most


def test_without_a_limit_nothing_is_left_to_wait_for() -> None:
    """A queue may be full for days."""
    assert math.inf == Formation(Limits(registration_s=10)).left(1e9, pending=1)


@given(st.lists(SECONDS), SECONDS)
def test_the_time_to_work_is_that_of_all_attempts(worked: list[float], limit: float) -> None:
    """However it is split, it is used up, and never below nothing."""
    limits = Limits(registration_s=1, execution_s=limit)
    for each in worked:
        limits = limits.after(each)
    expected = pytest.approx(max(0.0, limit - sum(worked)), abs=1e-3)
    assert expected == limits.execution_s
    assert Limits(1) == Limits(1).after(sum(worked))


class Listener:
    """A detector to which every worker is silent at once, and its clock."""

    def __init__(self) -> None:
        self._now, self._store = 0.0, MemoryStore()
        self._detector = FailureDetector(self._store, "beat/", 0.0, clock=lambda: self._now)

    def hear(self, at: float, counts: dict[str, str]) -> dict[str, float]:
        """The seconds of silence of each worker, after a look that found these counts."""
        gone = [Put(key, None) for key in self._store.get_prefix("beat/")]
        said = [Put(f"beat/{worker}", count) for worker, count in counts.items()]
        self._store.transaction([], [*gone, *said])
        self._now = at
        return self._detector.frozen()


def test_who_says_the_same_again_is_silent() -> None:
    """Counted by the one who listens; who says something new, or has just come, is not."""
    listener = Listener()
    listener.hear(1.0, {"one": "7", "two": "3"})
    silence = listener.hear(2.5, {"one": "7", "two": "4", "three": "0"})
    assert {"one": 1.5, "two": 0.0, "three": 0.0} == silence


def test_who_listens_may_have_been_stopped_itself() -> None:
    """What it did not watch does not count; nobody is frozen because of that."""
    listener = Listener()
    listener.hear(1.0, {"one": "7"})
    assert {"one": 2.0} == listener.hear(3600.0, {"one": "7"})


def test_who_is_gone_is_forgotten() -> None:
    """Its keys tell."""
    listener = Listener()
    listener.hear(1.0, {"one": "7"})
    assert {} == listener.hear(2.0, {})


@given(st.lists(st.tuples(st.floats(1, 100), st.sampled_from("ab")), max_size=20))
def test_a_count_that_changes_ends_the_silence(looks: list[tuple[float, str]]) -> None:
    """And silence is never longer than the time that has passed."""
    at, before, listener = 0.0, "", Listener()
    for passed, count in looks:
        at += max(passed, 1.001)  # rounding of the sum never makes it less than a look
        silence = listener.hear(at, {"one": count})
        assert silence["one"] <= at
        if before != count:
            assert 0.0 == silence["one"]
        before = count


def test_it_is_time_to_look_once_a_second() -> None:
    """However often something else happens."""
    listener = Listener()
    assert [{}, {"one": 0.0}] == [listener.hear(at, {"one": "7"}) for at in (0.9, 1.0)]


def test_frozen_are_those_of_the_gang_that_have_work_and_say_nothing() -> None:
    """Who has said how its process ended need say no more."""
    membership = Membership(1, 0, tuple(Member(each, f"{each}:1", each, 1) for each in "abc"))
    silent = {"a": 10.0, "c": 60.0, "d": 60.0}
    done = Reports(exits={2: Exit("c", code=0, stopped=False)})
    assert {0: 10.0} == frozen(membership, done, silent)
    assert {} == frozen(membership, Reports(), {})
