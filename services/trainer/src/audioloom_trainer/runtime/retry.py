"""Retries while storage does not answer (a NameNode may be restarting) or a disk is full.

`audioloom_storage` itself retries for half a minute; this limit is for longer outages. A command
sets it once, for the whole process.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple

import structlog
from audioloom_storage import Unavailable, UnknownOutcome

log = structlog.get_logger()

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass
class RetryLimit:
    """The time for which a failed operation is retried."""

    seconds: float = 300.0
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 15.0


LIMIT = RetryLimit()


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each retry, rising, until the limit is reached."""
    give_up, pause = time.monotonic() + LIMIT.seconds, LIMIT.first_pause_seconds
    while time.monotonic() + pause <= give_up:
        yield pause
        pause = min(2 * pause, LIMIT.longest_pause_seconds)


def with_retries(
    action: Callable[[*Ts], T], *arguments: *Ts, given_up: threading.Event | None = None
) -> T:
    """Call *action*, repeat it while storage does not answer, and return its result.

    It must be safe to repeat, even after a call with unknown outcome.

    Raises:
        Unavailable, UnknownOutcome: storage failed for longer than the limit, or *given_up* is set.
    """
    left, given_up = pauses(), given_up or threading.Event()
    while True:
        try:
            return action(*arguments)
        except (Unavailable, UnknownOutcome) as error:
            pause = next(left, None)
            if pause is None or given_up.is_set():
                raise
            log.warning("storage does not answer, retrying", error=str(error), wait_s=pause)
            given_up.wait(pause)
