"""Wait with a limit: poll a condition."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def poll(
    probe: Callable[[], Answer | None], *, every_s: float, within_s: float = math.inf
) -> Answer | None:
    """Call *probe* until its answer is true or the time is over; return the last answer."""
    deadline = time.monotonic() + within_s
    while True:
        answer = probe()
        left = deadline - time.monotonic()
        if answer or left <= 0:
            return answer
        time.sleep(min(every_s, left))
