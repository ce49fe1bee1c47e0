"""Ask with a time limit, whatever it is that may not answer."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, ask: Callable[[], T]) -> T:
    """Return the result of `ask`, called in another thread; Ctrl-C ends the waiting too.

    After a TimeoutError the waiting thread is left alone, and ends with the process.
    """
    try:
        asker = _IDLE.pop()
    except IndexError:
        asker = _Asker()
    answers: list[T] = []
    asker.questions.put(lambda: answers.append(ask()))
    answered = False
    try:
        answered = asker.done.acquire(timeout=seconds)
    finally:
        if not answered:
            asker.questions.put(None)  # should it ever come back
    if not answered:
        raise TimeoutError(f"no answer within {seconds:g} s")
    failure, asker.failure = asker.failure, None
    _IDLE.append(asker)
    if failure is not None:
        raise failure
    return answers[0]


class _Asker:
    """A thread that is kept, because to start one takes longer than most answers."""

    def __init__(self) -> None:
        self.questions: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.done = threading.Lock()  # held until there is an answer; a Semaphore is slow Python
        self.done.acquire()
        self.failure: BaseException | None = None
        threading.Thread(target=self._serve, name="audioloom-storage", daemon=True).start()

    def _serve(self) -> None:
        while (question := self.questions.get()) is not None:
            try:
                question()
            except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
                self.failure = error
            del question
            self.done.release()


_IDLE: list[_Asker] = []
os.register_at_fork(after_in_child=_IDLE.clear)
