"""An answer within a time, whoever is asked: what does not answer is left to itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """What *ask* answers, or raises.

    Raises:
        TimeoutError: not in time. It goes on in a thread that keeps nobody from ending.
    """
    answers: list[Answer] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - told to who has asked
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answers[0]
