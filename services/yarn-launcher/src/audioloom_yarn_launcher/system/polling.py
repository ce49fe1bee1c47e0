"""Waiting for something that can only be asked again and again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def poll(
    probe: Callable[[], Answer | None], *, every_s: float, within_s: float = math.inf
) -> Answer | None:
    """Ask until there is an answer: the first true one, or the last one when the time is over."""
    deadline = time.monotonic() + within_s
    while True:
        answer = probe()
        left = deadline - time.monotonic()
        if answer or left <= 0:
            return answer
        time.sleep(min(every_s, left))
