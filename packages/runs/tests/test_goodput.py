"""The division of a run's wall time: sums, kills at any moment, and a simulated run."""

import math
import random
from dataclasses import dataclass, field, replace

import pytest
from audioloom_runs.goodput import LABELS, MEASURED, AttemptTimes, divide, redone
from hypothesis import given
from hypothesis import strategies as st

TIMES = st.none() | st.floats(0, 1e9, allow_nan=False)
ATTEMPTS = st.builds(
    AttemptTimes,
    begun=st.floats(0, 1e9),
    launch=st.sampled_from(["", "a", "b"]),
    requested=TIMES,
    allocated=TIMES,
    formed=TIMES,
    ended=TIMES,
    finished=st.booleans(),
    first=st.none() | st.integers(0, 1000),
    last=st.integers(0, 1000),
    measured=st.dictionaries(st.sampled_from(MEASURED), st.floats(0, 1e6)),
)


def length(attempts: list[AttemptTimes]) -> float:
    """The seconds from the first time to the last one, by another way than the sum of classes."""
    start = now = None
    for number, each in enumerate(attempts):
        again = number and each.launch and each.launch == attempts[number - 1].launch
        marks = [each.formed] if again else [each.requested, each.begun, each.allocated]
        marks += [each.formed]
        if not each.measured and each.formed is None:
            marks.append(each.ended)
        for mark in marks:
            if mark is not None:
                start = mark if start is None else start
                now = mark if now is None else max(now, mark)
        now = now or 0.0
        measured = sum(each.measured.values())
        now = now + measured if each.ended is None else max(now, each.ended)
    return (now or 0.0) - (start or 0.0)


@given(st.lists(ATTEMPTS, min_size=1, max_size=5))
def test_classes_sum_to_the_wall_time(attempts: list[AttemptTimes]) -> None:
    """Whatever the records say: no class is negative, and none is missing."""
    found = divide(attempts)
    assert [*LABELS] == [*found]
    assert min(found.values()) >= 0
    assert math.isclose(length(attempts), sum(found.values()), rel_tol=1e-9, abs_tol=1e-4)


def test_nothing_takes_no_time() -> None:
    """No attempt, no second."""
    assert 0 == sum(divide([]).values())


FIRST = AttemptTimes(
    100.0,
    "a",
    requested=90.0,
    allocated=103.0,
    formed=104.0,
    ended=150.0,
    first=0,
    last=40,
    measured={"importing": 5.0, "tracing": 2.0, "steps": 20.0, "input_stall": 4.0},
)
SECOND = AttemptTimes(
    151.0,
    "a",
    requested=90.0,
    allocated=152.0,
    formed=153.0,
    ended=200.0,
    finished=True,
    first=30,
    last=90,
    measured={"importing": 5.0, "steps": 30.0, "end": 4.0},
)


def test_a_restart_is_told_class_by_class() -> None:
    """A quarter of the first attempt's steps was done again; its unreported rest is lost."""
    expected = dict.fromkeys(LABELS, 0.0) | {
        "containers": 13.0,
        "localising": 1.0,
        "importing": 10.0,
        "tracing": 2.0,
        "steps": 15.0 + 30.0,
        "input_stall": 3.0,
        "lost_steps": 5.0 + 1.0 + 15.0,
        "restart": 3.0,
        "end": 4.0 + 8.0,
    }
    assert expected == pytest.approx(divide([FIRST, SECOND]))


def test_another_launch_waits_for_its_own_containers() -> None:
    """The time until a person asked again is a restart, the time after it is not."""
    again = replace(SECOND, launch="b", requested=170.0, begun=175.0, allocated=178.0, formed=179.0)
    found = divide([FIRST, again])
    assert (20.0, 10.0 + 3.0 + 5.0 + 3.0, 1.0 + 1.0) == (
        found["restart"],
        found["containers"],
        found["localising"],
    )


def test_an_end_that_nobody_saw_is_the_last_report() -> None:
    """A lost launcher: the days until somebody came are a restart and no lost steps."""
    lost = replace(FIRST, ended=None, measured={"importing": 5.0})
    found = divide([lost, replace(SECOND, launch="b", requested=None, begun=90_000.0)])
    assert 90_000.0 - 109.0 == found["restart"]
    assert 0.0 == found["lost_steps"]


def test_a_gang_that_was_never_complete_waited() -> None:
    """Its wait for containers until the time limit."""
    never = AttemptTimes(100.0, "a", requested=90.0, ended=400.0)
    assert 310.0 == divide([never])["containers"]


def test_measurements_beyond_the_attempt_shrink() -> None:
    """In proportion, so that no class takes another one's place."""
    found = divide([replace(FIRST, ended=119.5)])
    assert (2.5, 1.0, 10.0, 2.0, 0.0) == (
        *(found[name] for name in ("importing", "tracing", "steps", "input_stall")),
        found["lost_steps"],
    )


def test_only_steps_that_were_done_again_are_lost() -> None:
    """An attempt that never trained says nothing of them; one that began lower takes all."""
    silent = replace(SECOND, first=None, last=0, measured={})
    assert 0.0 == redone([FIRST, silent], 0)
    assert 0.25 == redone([FIRST, silent, SECOND], 0)
    assert 1.0 == redone([replace(FIRST, first=35), SECOND], 0)
    assert 0.0 == redone([FIRST, replace(SECOND, first=40)], 0)


# --- a simulated run ------------------------------------------------------------------------------

REPORT_EVERY, CHECKPOINT_EVERY, WANTED = 10.0, 25, 400


@dataclass
class Simulation:
    """A run with kills at random moments, and its true classes as an observer sees them."""

    seed: int
    now: float = 1000.0
    attempts: list[AttemptTimes] = field(default_factory=list)
    true: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LABELS, 0.0))
    saved: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311
        self.kills = self.random.randrange(5)

    def spend(self, name: str, seconds: float) -> None:
        """Let time pass."""
        self.true[name] += seconds
        self.now += seconds

    def run(self) -> list[AttemptTimes]:
        """Attempt after attempt, until all steps are done."""
        while not (self.attempts and self.attempts[-1].finished):
            self.attempt()
        return self.attempts

    def attempt(self) -> None:
        """One attempt, which is killed at any moment as long as kills are left."""
        again, begun = bool(self.attempts), self.now
        self.spend("restart" if again else "containers", self.random.uniform(0, 60))
        allocated = self.now
        self.spend("restart" if again else "localising", self.random.uniform(0, 20))
        formed, first = self.now, self.saved
        killed_at = self.now + self.random.uniform(0, 600) if self.kills else math.inf
        self.kills -= bool(self.kills)
        measured, reported, last = {}, {}, first
        step, finished, next_report = first, False, formed
        spans = [("importing", 8.0), ("tracing", 3.0)]
        while True:
            name, seconds = spans.pop(0) if spans else self.next_span(step)
            if self.now + seconds >= killed_at:
                self.spend("lost_steps", killed_at - self.now)
                break
            self.spend(name, seconds)
            measured[name] = measured.get(name, 0.0) + seconds
            step += name == "steps"
            if name == "checkpoint_stall":
                self.saved = step
            finished = name == "end"
            if self.now >= next_report or finished:
                reported, last, next_report = dict(measured), step, self.now + REPORT_EVERY
            if finished:
                break
        if not finished:
            lost = (step - self.saved) / (step - first) * measured["steps"] if step > first else 0.0
            self.true["steps"] -= lost
            self.true["lost_steps"] += lost
            self.spend("lost_steps", 5.0)  # until it is noticed
        self.attempts.append(
            AttemptTimes(
                begun,
                "a",
                allocated=allocated,
                formed=formed,
                ended=self.now,
                finished=finished,
                first=first if reported else None,
                last=last,
                measured=reported,
            )
        )

    def next_span(self, step: int) -> tuple[str, float]:
        """A step, or what is due after it."""
        if step % CHECKPOINT_EVERY == 0 and step > self.saved:
            return "checkpoint_stall", self.random.uniform(0, 2)
        if step >= WANTED:
            return "end", 7.0
        if self.random.random() < 0.05:
            return "input_stall", 1.0
        return ("evaluation", 6.0) if self.random.random() < 0.01 else ("steps", 1.0)


@pytest.mark.parametrize("seed", range(50))
def test_a_simulated_run_is_told_as_it_was(seed: int) -> None:
    """Each class is right but for the intervals of reports; the sum is the time that passed."""
    simulation = Simulation(seed)
    attempts = simulation.run()
    found, true = divide(attempts), simulation.true
    assert math.isclose(simulation.now - 1000.0, sum(found.values()))
    killed = len(attempts) - 1
    for name in LABELS:
        # Between the last report and a kill lie at most an interval and a span that it ends with.
        assert abs(found[name] - true[name]) <= killed * (REPORT_EVERY + 15.0) + 1e-6, name
    if not killed:
        assert true == pytest.approx(found)
