"""The wall time of a training run, divided into classes across its attempts.

The trainer measures its own classes with one monotonic clock, each attempt anew. Records of the
launcher give the times around them. Both are laid one after the other on one line from the request
to the end, so the classes always sum to the wall time:

- A time that lies before the time preceding it on the line counts as that time: hosts have clocks
  of their own.
- The trainer's classes begin when the gang is complete. If they exceed the attempt, they shrink in
  proportion.
- The rest of an attempt, which its trainer did not report any more, is `end` if the attempt
  finished, and `lost_steps` if it failed.
- An attempt whose end nobody saw ends with the last report of its trainer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LABELS = {
    "containers": "waiting for containers",
    "localising": "localising",
    "importing": "importing",
    "tracing": "tracing",
    "steps": "steps",
    "input_stall": "input stall",
    "checkpoint_stall": "checkpoint stall",
    "evaluation": "evaluation",
    "lost_steps": "lost steps",
    "restart": "restart",
    "end": "end",
}
"""The classes in the order of a run, and their names for people."""

MEASURED = (
    "importing",
    "tracing",
    "steps",
    "input_stall",
    "checkpoint_stall",
    "evaluation",
    "end",
)
"""The classes that a trainer measures itself."""

_REDONE = ("steps", "input_stall")


@dataclass(frozen=True)
class AttemptTimes:
    """One attempt at a run. Times are seconds since 1970, None where unknown.

    Args:
        launch: the launch that it belongs to: attempts of one launch follow each other as restarts.
        requested: when the launch was submitted.
        begun: when the attempt was begun.
        allocated: when all workers had a container.
        formed: when the gang was complete.
        ended: when the attempt was over.
        finished: it ended well.
        first, last: steps that were done when its training began, and at its last report.
        measured: seconds of each class of `MEASURED` until the last report.
    """

    begun: float
    launch: str = ""
    requested: float | None = None
    allocated: float | None = None
    formed: float | None = None
    ended: float | None = None
    finished: bool = False
    first: int | None = None
    last: int = 0
    measured: Mapping[str, float] = field(default_factory=dict)


def divide(attempts: Sequence[AttemptTimes]) -> dict[str, float]:
    """Return the seconds of each class of `LABELS`, for the attempts of a run in order."""
    line = _Line()
    before: AttemptTimes | None = None
    for number, attempt in enumerate(attempts):
        if before is not None and attempt.launch and attempt.launch == before.launch:
            line.until(attempt.formed, "restart")
        else:
            line.until(attempt.begun if attempt.requested is None else attempt.requested, "restart")
            line.until(attempt.begun, "containers")
            line.until(attempt.allocated, "containers")
            line.until(attempt.formed, "localising")
        if attempt.formed is None and not attempt.measured:  # the gang was never complete
            line.until(attempt.ended, "containers")
        line.work(attempt, redone(attempts, number))
        before = attempt
    return line.seconds


def redone(attempts: Sequence[AttemptTimes], number: int) -> float:
    """Return the share of the steps of an attempt that later attempts did again, 0 to 1."""
    first, last = attempts[number].first, attempts[number].last
    resumed = [each.first for each in attempts[number + 1 :] if each.first is not None]
    if first is None or first >= last or not resumed:
        return 0.0
    return min(1.0, max(0.0, (last - min(resumed)) / (last - first)))


@dataclass
class _Line:
    """The wall time so far: *now* is its end, None before the first time."""

    now: float | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LABELS, 0.0))

    def until(self, time: float | None, name: str) -> None:
        """Count the time until *time* for a class."""
        if time is None:
            return
        if self.now is not None:
            self.seconds[name] += max(0.0, time - self.now)
        self.now = time if self.now is None else max(self.now, time)

    def work(self, attempt: AttemptTimes, lost: float) -> None:
        """Count what the trainer of an attempt measured, the share *lost* of its steps as lost."""
        whole = sum(attempt.measured.values())
        now = self.now or 0.0
        room = whole if attempt.ended is None else max(0.0, attempt.ended - now)
        scale = min(1.0, room / whole) if whole else 0.0
        for name, measured in attempt.measured.items():
            part = measured * scale
            gone = part * lost if name in _REDONE else 0.0
            self.seconds[name] += part - gone
            self.seconds["lost_steps"] += gone
        rest = "end" if attempt.finished else "lost_steps"
        self.seconds[rest] += max(0.0, room - whole * scale)
        self.now = now + room
