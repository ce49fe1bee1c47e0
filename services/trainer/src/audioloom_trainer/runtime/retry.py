"""How long to wait for storage that went away, or for room on a disk: a NameNode may be restarted.

`audioloom_storage` waits half a minute by itself; this is for longer than that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import structlog
from audioloom_storage import Unavailable, UnknownOutcome

__all__ = ["patiently", "pauses"]

log = structlog.get_logger()

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0


def pauses(patience: float) -> Iterator[float]:
    """Seconds to wait before each further try, longer and longer, until patience would end."""
    give_up, pause = time.monotonic() + patience, _FIRST_PAUSE_SECONDS
    while time.monotonic() + pause <= give_up:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def patiently(
    action: Callable[[], T], patience: float, *, given_up: threading.Event | None = None
) -> T:
    """The result of *action*, repeated while storage does not answer.

    Args:
        action: may be done twice, also when nobody can tell whether it was done once.
        patience: seconds.
        given_up: once it is set, what fails is not tried again.

    Raises:
        Unavailable, UnknownOutcome: storage failed for longer than that.
    """
    left, given_up = pauses(patience), given_up or threading.Event()
    while True:
        try:
            return action()
        except (Unavailable, UnknownOutcome) as error:
            pause = next(left, None)
            if pause is None or given_up.is_set():
                raise
            log.warning("storage does not answer, trying again", error=str(error), wait_s=pause)
            given_up.wait(pause)
