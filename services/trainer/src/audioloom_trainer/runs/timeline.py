"""The timeline of a training: the duration of steps and their wait for input."""

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_INTERVALS = 1000
"""More are merged in pairs, so that a run of any length is told in so many."""

_MUCH = 0.05
"""A share of the time from which waiting counts as what holds a training up."""

_HALVINGS = 40


@dataclass(frozen=True)
class Interval:
    """Measurements of consecutive steps."""

    step: int
    """The last of them, counted from the start of the run."""
    steps: int
    """How many they are."""
    seconds: float
    """That one of them takes by the clock, on average."""
    wait: float
    """Share of that in which this worker had no batch to compute on, 0 to 1."""
    storage: float
    """The part of `wait` in which shards were not yet on local disk."""


@dataclass
class Timeline:
    """The intervals of a session, oldest first, in bounded memory."""

    intervals: list[Interval] = field(default_factory=list)
    _longest: int = 1

    def add(self, interval: Interval) -> None:
        """Append an interval."""
        last = self.intervals[-1] if self.intervals else None
        if last is not None and last.steps + interval.steps <= self._longest:
            self.intervals[-1] = summed((last, interval))
            return
        self.intervals.append(interval)
        if len(self.intervals) > MOST_INTERVALS:
            self.intervals = thinned(self.intervals, -(-len(self.intervals) // 2))
            self._longest = max(each.steps for each in self.intervals)


def summed(intervals: Sequence[Interval]) -> Interval:
    """Combine intervals to one, with the step of the last interval.

    Raises:
        ValueError: there is no interval.
    """
    if not intervals:
        raise ValueError("expected at least one interval, found none")
    steps = sum(each.steps for each in intervals)
    times = [each.seconds * each.steps for each in intervals]
    seconds = sum(times)
    wait = sum(each.wait * time for each, time in zip(intervals, times, strict=True))
    storage = sum(each.storage * time for each, time in zip(intervals, times, strict=True))
    whole = seconds or 1.0  # nothing took any time
    return Interval(
        intervals[-1].step, steps, seconds / max(1, steps), wait / whole, storage / whole
    )


def thinned(intervals: Sequence[Interval], most: int) -> list[Interval]:
    """Combine neighbouring intervals so that at most *most* remain."""
    size = max(1, -(-len(intervals) // most))
    return [summed(intervals[at : at + size]) for at in range(0, len(intervals), size)]


def waiting(start: float, end: float, produced: Sequence[float]) -> float:
    """Estimate how long a block of steps waited for its batches, in seconds.

    All steps of a block run in one call of TensorFlow, so single steps cannot be timed. But the
    time when each batch was ready is known, and all steps of a block take equally long. Each step
    starts after its batch and after the step before. Only one step length fits the block's end.
    *produced* says when each batch was ready, on the clock of *start* and *end*.
    """
    if not produced:
        return 0.0

    def ends(step: float) -> float:
        now = start
        for ready in produced:
            now = max(now, ready) + step
        return now

    low, high = 0.0, max(0.0, end - start) / len(produced)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if ends(middle) < end else (low, middle)
    return max(0.0, end - start - len(produced) * high)


def bottleneck(intervals: Sequence[Interval]) -> str:
    """Name the part that limits the speed of a training.

    Returns:
        "device": steps wait for less than a twentieth of the time, so only more or faster devices
        help. "storage": steps wait, mostly for the transfer of shards to local disk. "decode":
        steps wait although the shards are on local disk.
    """
    if not intervals:
        return "device"
    whole = summed(intervals)
    if whole.wait < _MUCH:
        return "device"
    return "storage" if whole.storage >= whole.wait / 2 else "decode"
