"""Faults for tests: cut the power at a numbered input/output step. Product code never imports this.

Every operation that changes storage takes the next number from a counter file that all processes share.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from audioloom_storage import _steps
from audioloom_storage._steps import Step
from audioloom_storage.location import Location

VARIABLE = "AUDIOLOOM_STORAGE_CRASH"


class Crashed(BaseException):
    """The power is off. Not an Exception, and every later step raises it too, so no cleanup touches storage."""


@dataclass(frozen=True)
class CrashPlan:
    """Die at step `at` (the first is 1), in whichever process takes it, and at every later step in all of them.

    Args:
        counter: file shared by all processes, one byte a step.
        at: number of the step that is not done any more.
        mode: "raise" raises `Crashed`; "kill" ends the own process with SIGKILL.
    """

    counter: Path
    at: int
    mode: Literal["raise", "kill"] = "raise"

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Listen to the steps of this process until the block ends."""
        with _listening(self._listen):
            yield

    def environment(self) -> dict[str, str]:
        """What makes `install_from_environment` arm the same plan in another process."""
        return {VARIABLE: f"{self.counter}:{self.at}:{self.mode}"}

    def _listen(self, what: Step, location: Location) -> None:
        number = _take(self.counter, what)
        if number >= self.at:
            self._die(f"step {number}, {what.name} {location}")

    def _die(self, text: str) -> NoReturn:
        if self.mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise Crashed(text)


@dataclass(frozen=True)
class Steps:
    """The steps taken so far, by all processes that share the counter."""

    counter: Path

    @property
    def count(self) -> int:
        """How many."""
        return self.counter.stat().st_size

    @property
    def names(self) -> tuple[str, ...]:
        """What they were, in order: "create", "write", "sync", "move", "moved", "make_folder", "remove"."""
        known = {kind.value: kind.name.lower() for kind in Step}
        return tuple(known[bytes([byte])] for byte in self.counter.read_bytes())


@contextmanager
def steps(counter_file: str | os.PathLike[str]) -> Iterator[Steps]:
    """Count the steps of this process, and let them pass."""
    counter = Path(counter_file)
    counter.touch()

    def listen(what: Step, location: Location) -> None:
        _take(counter, what)

    with _listening(listen):
        yield Steps(counter)


def install_from_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Arm the plan in AUDIOLOOM_STORAGE_CRASH ("COUNTER:N:raise|kill") for the rest of this process, if it is set.

    For a sitecustomize, a conftest or a worker hook of a test.
    """
    text = environment.get(VARIABLE)
    if not text:
        return
    counter, at, mode = text.rsplit(":", 2)
    if mode not in ("raise", "kill"):
        raise ValueError(f"{VARIABLE}={text!r}: expected COUNTER:N:raise or COUNTER:N:kill")
    _steps.listener = CrashPlan(Path(counter), int(at), "kill" if mode == "kill" else "raise")._listen


@contextmanager
def _listening(listen: object) -> Iterator[None]:
    before, _steps.listener = _steps.listener, listen  # type: ignore[assignment]
    try:
        yield
    finally:
        _steps.listener = before


def _take(counter: Path, what: Step) -> int:
    descriptor = os.open(counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not what.value:
            return os.fstat(descriptor).st_size
        os.write(descriptor, what.value)
        # The offset after an O_APPEND write is the end of this write: unique, whoever else writes.
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)
