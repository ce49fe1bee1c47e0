"""Threads that run one at a time, and change places where a seed says so.

Each input/output step of a task is a point where another task may go on, or where the task dies.
The same seed gives the same order, whatever the machine: nothing else decides.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from audioloom_storage.backend.fault_points import Step, listen
from audioloom_storage.location import Location

from audioloom_storage_testing.crashes import Crashed


@dataclass(frozen=True)
class Ended:
    """How a task ended: with a value, with an error, or by a crash (then with neither)."""

    value: Any = None
    error: BaseException | None = None

    @property
    def crashed(self) -> bool:
        """Whether its power was cut."""
        return isinstance(self.error, Crashed)


class Schedule:
    """An order in which tasks take their steps.

    Args:
        seed: of all that is drawn here.
        crash: how likely a task dies at a step, 0 to 1.
        watch: called before each step, while nothing else runs.
    """

    def __init__(
        self, seed: int, *, crash: float = 0.0, watch: Callable[[], None] = lambda: None
    ) -> None:
        self._numbers = random.Random(f"schedule {seed}")  # noqa: S311 - no secret
        self._crash = crash
        self._watch = watch
        self.trace: list[str] = []
        """The steps as they were taken: who and what."""
        self._turns: list[threading.Lock] = []
        self._alive: list[int] = []
        self._dead: set[int] = set()
        self._me = -1
        self._over = threading.Lock()

    def run(self, tasks: Sequence[Callable[[], Any]], mortal: int | None = None) -> list[Ended]:
        """Run the tasks to their ends, of which the first *mortal* ones may die on the way."""
        self._turns = [threading.Lock() for _ in tasks]
        self._alive = list(range(len(tasks)))
        self._mortal = len(tasks) if mortal is None else mortal
        ended: list[Ended] = [Ended()] * len(tasks)

        def body(me: int) -> None:
            self._turns[me].acquire()
            try:
                ended[me] = Ended(tasks[me]())
            except BaseException as error:  # noqa: BLE001 - a crash is no Exception
                ended[me] = Ended(error=error)
            self._alive.remove(me)
            if self._alive:
                self._hand_on(self._numbers.choice(self._alive))
            else:
                self._over.release()

        threads = [threading.Thread(target=body, args=(me,)) for me in range(len(tasks))]
        for lock in (*self._turns, self._over):
            lock.acquire()
        before = listen(self._hear)
        try:
            for thread in threads:
                thread.start()
            self._hand_on(self._numbers.choice(self._alive))
            self._over.acquire()
            for thread in threads:
                thread.join()
        finally:
            listen(before)
            self._over.release()
            self._me = -1
        return ended

    def pause(self, what: str, location: Location) -> None:
        """Let another task go on, perhaps; does not return if the one that asks is to die.

        Outside of `run` nothing happens.
        """
        me = self._me
        if me < 0:
            return
        if me in self._dead:
            raise Crashed("the power is off")
        if me < self._mortal and self._crash and self._numbers.random() < self._crash:
            self._dead.add(me)
            self.trace.append(f"{me} dies before: {what} {location.name}")
            raise Crashed(f"the power went off: no {what} {location}")
        other = self._numbers.choice(self._alive)
        if other != me:
            self._hand_on(other)
            self._turns[me].acquire()
        self.trace.append(f"{me} {what} {location.name}")
        self._me = -1  # what the watch looks at is no step
        self._watch()
        self._me = me

    def _hear(self, what: Step, location: Location) -> None:
        self.pause(what.name.lower(), location)

    def _hand_on(self, other: int) -> None:
        self._me = other
        self._turns[other].release()
