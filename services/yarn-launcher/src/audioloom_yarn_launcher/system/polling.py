"""Waiting: for something that can only be asked again and again, and for a late answer."""

import math
import threading
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


def within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """The answer of *ask*, or its exception.

    Raises:
        TimeoutError: there was none in time. *ask* goes on in a thread that does not block exit.
    """
    answers: list[Answer] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised for the caller
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answers[0]
