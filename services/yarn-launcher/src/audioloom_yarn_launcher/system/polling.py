"""Waits with a limit: poll a condition, and bound a call that may hang."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
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


def within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Return the answer of *ask* or raise its exception.

    Raises:
        TimeoutError: *ask* took too long. It goes on in a thread that does not block exit.
    """
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([answer], seconds).done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answer.result()
