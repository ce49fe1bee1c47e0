import math

import pytest
from audioloom_yarn_launcher.coordinator.timeouts import FormationTimer, Limits, pause_s
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


@given(st.integers(0, 100), st.floats(0, 1))
def test_what_is_started_anew_pauses_longer_each_time(restarts: int, chance: float) -> None:
    """For half of that or more, by chance, and never for longer than a minute."""
    most = pause_s(restarts, lambda: 1.0)
    assert min(0.5 * 2**restarts, 60) == most
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
