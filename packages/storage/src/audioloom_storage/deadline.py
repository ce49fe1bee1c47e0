"""Ask with a time limit, whatever it is that may not answer."""

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

T = TypeVar("T")


def within(seconds: float, ask: Callable[[], T]) -> T:
    """Return the result of `ask`, called in another thread; Ctrl-C ends the waiting too.

    After a TimeoutError the waiting thread is left alone, and ends with the process.
    """
    try:
        asker = _IDLE.pop()
    except IndexError:
        asker = _Asker()
    asker.questions.put(ask)
    try:
        answer, failure = asker.answers.get(timeout=seconds)
    except BaseException as error:
        asker.questions.put(None)  # should it ever come back
        if isinstance(error, Empty):
            raise TimeoutError(f"no answer within {seconds:g} s") from None
        raise
    _IDLE.append(asker)
    if failure is not None:
        raise failure
    return cast("T", answer)


class _Asker:
    """A thread that is kept, because to start one takes longer than most answers."""

    def __init__(self) -> None:
        self.questions: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.answers: SimpleQueue[tuple[object, BaseException | None]] = SimpleQueue()
        threading.Thread(target=self._serve, name="audioloom-storage", daemon=True).start()

    def _serve(self) -> None:
        while (question := self.questions.get()) is not None:
            try:
                self.answers.put((question(), None))
            except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
                self.answers.put((None, error))
            del question


_IDLE: list[_Asker] = []
os.register_at_fork(after_in_child=_IDLE.clear)
