"""Cut the power at a numbered input/output step.

Every operation that changes storage takes the next number, from a counter file that all processes
share: the size of the file, for each step adds one byte to it. Reading takes no number. First
`steps` counts what a program does, then a `CrashPlan` for each number lets it die there, and the
test looks at what is left and runs the program again.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from audioloom_storage.backend.fault_points import Listener, Step, listen
from audioloom_storage.location import Location

VARIABLE = "AUDIOLOOM_STORAGE_CRASH"


class Crashed(BaseException):
    """The power is off.

    Not an Exception, and every later step raises it too: so no handler, no `finally` and no second
    thread touches storage any more, and what is left is what a SIGKILL leaves.
    """


@dataclass(frozen=True)
class CrashPlan:
    """Whichever process takes step `at` dies before doing it, and all others at their next one.

    Args:
        counter: file that all processes share; it need not exist yet.
        at: number of the first step that is not done; the first of all is 1.
        mode: "raise" raises `Crashed` where the step was; "kill" ends the process with SIGKILL.
    """

    counter: Path
    at: int
    mode: Literal["raise", "kill"] = "raise"

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Arm the plan in this process until the block ends."""
        with _heard_by(self.hear):
            yield

    def environment(self) -> dict[str, str]:
        """The variable by which `install_from_environment` arms this plan in another process."""
        return {VARIABLE: f"{self.counter}:{self.at}:{self.mode}"}

    def hear(self, what: Step, location: Location) -> None:
        """Take a number for the step, and die if it is time."""
        taken = _count(self.counter)
        if what is not Step.READ and taken < self.at:
            taken = take_number(self.counter, what.value)
        if taken >= self.at:  # also when another process has died: one machine, one power cut
            what_not = f"{what.name.lower().replace('_', ' ')} {location}"
            self._die(f"the power went off at step {self.at}: no {what_not}")

    def _die(self, where: str) -> NoReturn:
        if self.mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise Crashed(where)


@dataclass(frozen=True)
class Steps:
    """The steps taken so far by all processes that share a counter."""

    counter: Path

    @property
    def count(self) -> int:
        """How many."""
        return _count(self.counter)

    @property
    def names(self) -> tuple[str, ...]:
        """What they were: create, write, sync, commit, committed, make_folder, remove."""
        names = {kind.value: kind.name.lower() for kind in Step}
        return tuple(names[bytes([byte])] for byte in self.counter.read_bytes())


@contextmanager
def steps(counter_file: str | os.PathLike[str]) -> Iterator[Steps]:
    """Count the steps of this process until the block ends, and let them pass."""
    counter = Path(counter_file)
    counter.touch()

    def hear(what: Step, _location: Location) -> None:
        if what is not Step.READ:
            take_number(counter, what.value)

    with _heard_by(hear):
        yield Steps(counter)


def arm_from_environment(environment: Mapping[str, str] = os.environ) -> None:
    """Arm the plan that `CrashPlan.environment` put there, if any, for the rest of this process.

    Raises:
        ValueError: the variable is set, and is no COUNTER:N:raise or COUNTER:N:kill.
    """
    text = environment.get(VARIABLE)
    if not text:
        return
    match = re.fullmatch(r"(.+):([1-9][0-9]*):(raise|kill)", text, re.DOTALL)
    if match is None:
        raise ValueError(f"{VARIABLE}={text!r}: expected COUNTER:N:raise or COUNTER:N:kill")
    mode: Literal["raise", "kill"] = "kill" if match[3] == "kill" else "raise"
    listen(CrashPlan(Path(match[1]), int(match[2]), mode).hear)


@contextmanager
def _heard_by(listener: Listener) -> Iterator[None]:
    before = listen(listener)
    try:
        yield
    finally:
        listen(before)


def _count(counter: Path) -> int:
    try:
        return counter.stat().st_size
    except FileNotFoundError:
        return 0


def take_number(counter: Path, byte: bytes) -> int:
    """The next number, from 1, of all processes that share the file."""
    descriptor = os.open(counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, byte)
        # Where an appending write ends is a number that no other writer got.
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)
