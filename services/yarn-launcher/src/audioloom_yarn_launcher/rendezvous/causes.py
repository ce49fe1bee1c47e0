"""Why a gang ended: the first cause, told from its echoes.

When one process dies, the others fail with it, often in the same tenth of a second and with louder
messages. Which one was first is known from the store, and some ends say themselves what they are.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from audioloom_yarn_launcher.rendezvous.messages import Exit, Reports

REPEATING = frozenset({2, 65, 66, 73, 77, 78, 126, 127})
"""Exit codes that the same command will end with again: usage, bad data, missing input, a name that
is taken, permission, configuration, a program that cannot be run."""

TRY_AGAIN, CONFIGURATION = 75, 78
NOT_EXECUTABLE, NOT_FOUND = 126, 127

Kind = Literal[
    "exit",  # a process ended with a code of its own
    "signal",  # a process was killed
    "lost",  # a worker vanished with its process
    "allocation",  # not all workers were given a place in time
    "registration",  # not all workers came in time
    "execution",  # the gang had worked for as long as it may
    "interrupted",  # the launcher was told to stop
    "launcher-lost",  # the launcher itself was killed; found out by the next one
]

_ECHOES = frozenset({TRY_AGAIN, -signal.SIGABRT})  # ours for a lost peer; TensorFlow's abort

_NO_IMPORT = re.compile(r"(?:ModuleNotFoundError|ImportError): |.*: No module named ")


@dataclass(frozen=True)
class Loss:
    """How a worker was lost.

    Args:
        text: to go on with a subject.
        exit_code: what it makes the run end with if that is not started anew.
    """

    text: str
    exit_code: int = TRY_AGAIN

    def cause(self, subject: str, rank: int | None = None) -> Cause:
        """The cause that it is."""
        return Cause(
            kind="lost",
            text=f"{subject}: {self.text}",
            exit_code=self.exit_code,
            rank=rank,
            repeats=self.exit_code in REPEATING,
        )


@dataclass(frozen=True)
class Cause:
    """Why a generation ended before its work was done.

    Args:
        kind: what happened.
        text: one sentence without a full stop.
        exit_code: what the run ends with if it is not started anew.
        rank: whose end it was, None if nobody's alone.
        repeats: starting anew would end in the same way.
        echo: it says of itself that another process was the cause.
        tail: the last lines of the output of that process.
    """

    kind: Kind
    text: str
    exit_code: int
    rank: int | None = None
    repeats: bool = False
    echo: bool = False
    tail: str = ""


def first_cause(reports: Reports, lost: Mapping[int, Loss]) -> Cause:
    """The cause that the others are echoes of.

    A code that will only repeat outranks everything: it is a verdict of the program on its input.
    A process that was killed or vanished outranks one that gave up, which may have missed it; and
    what says of itself that it is an echo comes last. Among equals, the first to be reported.

    Args:
        reports: of the generation; at least one exit failed, unless a worker is lost.
        lost: what happened to each worker that vanished, by rank.
    """
    causes = [_exit_cause(rank, end) for rank, end in reports.exits.items() if end.failed]
    causes += [loss.cause(f"worker {rank} was lost", rank) for rank, loss in lost.items()]
    return min(causes, key=lambda cause: (_weight(cause), cause.rank != reports.first, cause.rank))


def code_after(last: str) -> int:
    """What the loss of a worker makes the run end with, by the last line that it said itself.

    One that lacks a Python module is not started anew: another would lack it, too.
    """
    return CONFIGURATION if _NO_IMPORT.match(last) else TRY_AGAIN


def describe_end(code: int) -> str:
    """What a code as `subprocess` gives it means, to go on with a subject."""
    if code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    if code == NOT_FOUND:
        return "could not be started: there is no such program"
    if code == NOT_EXECUTABLE:
        return "could not be started: the program cannot be run"
    return f"ended with exit code {code}"


def _exit_cause(rank: int, end: Exit) -> Cause:
    code = TRY_AGAIN if end.code is None else end.code
    return Cause(
        kind="signal" if code < 0 else "exit",
        text=f"the process of worker {rank} {end.why or describe_end(code)}",
        exit_code=TRY_AGAIN if code < 0 else code,
        rank=rank,
        repeats=code in REPEATING,
        echo=code in _ECHOES,
        tail=end.tail,
    )


def _weight(cause: Cause) -> int:
    if cause.repeats:
        return 0
    if cause.echo:
        return 3
    return 1 if cause.kind in ("lost", "signal") else 2
