"""How long workers have been silent: by what they count, and the coordinator's own clock.

A worker counts, and says the count, as long as it lives. Who is stopped (SIGSTOP), or hangs with
its machine, keeps its keys and its connection: nothing but the standing count gives it away. No
clock of another machine has a part in it, and the coordinator itself may be stopped for a while: it
counts only the time in which it looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LOOK_EVERY_S = 1.0
MOST_BETWEEN_S = 2.0


@dataclass(frozen=True)
class Silence:
    """What is known at one moment.

    Args:
        at: when, by the coordinator's monotonic clock.
        counts: what each worker said last, by its id.
        seconds: for how long it has said nothing else.
    """

    at: float
    counts: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def due(self, at: float) -> bool:
        """Whether it is time to look again."""
        return at - self.at >= LOOK_EVERY_S

    def longer(self, than_s: float) -> dict[str, float]:
        """Who has been silent for so long, and how long."""
        return {each: seconds for each, seconds in self.seconds.items() if seconds >= than_s}

    def heard(self, counts: Mapping[str, str], at: float) -> Silence:
        """What is known after the next look."""
        passed = min(at - self.at, MOST_BETWEEN_S)
        seconds = {
            worker: self.seconds[worker] + passed if self.counts.get(worker) == count else 0.0
            for worker, count in counts.items()
        }
        return Silence(at, dict(counts), seconds)
