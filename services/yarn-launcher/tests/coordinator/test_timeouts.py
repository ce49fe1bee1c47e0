import pytest
from audioloom_yarn_launcher.coordinator.timeouts import Forming, Limits, patience, pause_s
from hypothesis import given
from hypothesis import strategies as st

LIMITS = Limits(registration_s=10, allocation_s=100)
SECONDS = st.floats(0, 1e6)


def test_who_waits_for_a_place_is_not_late() -> None:
    """The time in which all must come begins when the last of them has got its container."""
    waiting = Forming(requested=0).observe(50, pending=1)
    assert ("allocation", 50) == (waiting.part, waiting.left(LIMITS, 50))
    placed = waiting.observe(60, pending=0)
    assert ("registration", 10) == (placed.part, placed.left(LIMITS, 60))
    assert -1 == placed.observe(71, pending=0).left(LIMITS, 71)


def test_a_place_that_is_lost_is_waited_for_again() -> None:
    """In the time that is left of that, from when the workers were asked for."""
    again = Forming(requested=0).observe(60, pending=0).observe(70, pending=1)
    assert ("allocation", 30) == (again.part, again.left(LIMITS, 70))


def test_of_two_that_wait_for_each_other_one_gives_back_first() -> None:
    """Chance says which: both have waited as long as they were told to, one of them longer."""
    hasty, patient = (Forming(0, patience=patience(lambda c=c: c)) for c in (0.0, 1.0))
    assert (0, 25) == (hasty.left(LIMITS, 100), patient.left(LIMITS, 100))
    placed = patient.observe(60, pending=0)
    assert 10 == placed.left(LIMITS, 60)  # who has its place is late as ever


@given(st.integers(0, 100), st.floats(0, 1))
def test_what_is_started_anew_pauses_longer_each_time(restarts: int, chance: float) -> None:
    """For half of that or more, by chance, and never for longer than a minute."""
    most = pause_s(restarts, lambda: 1.0)
    assert min(0.5 * 2**restarts, 60) == most
    assert most / 2 <= pause_s(restarts, lambda: chance) <= most


def test_without_a_limit_nothing_is_left_to_wait_for() -> None:
    """A queue may be full for days."""
    assert Forming(requested=0).left(Limits(registration_s=10), 1e9) is None


@given(st.lists(SECONDS), SECONDS)
def test_the_time_to_work_is_that_of_all_attempts(worked: list[float], limit: float) -> None:
    """However it is split, it is used up, and never below nothing."""
    limits = Limits(registration_s=1, execution_s=limit)
    for each in worked:
        limits = limits.after(each)
    expected = pytest.approx(max(0.0, limit - sum(worked)), abs=1e-3)
    assert expected == limits.execution_s
    assert Limits(1) == Limits(1).after(sum(worked))
