"""The cause of a gang's end: the first failure, told apart from its echoes.

When one process dies, the others fail because of it, often in the same tenth of a second and with
louder messages. The store records the order, and some exit codes mark an echo.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from audioloom_yarn_launcher.rendezvous.messages import Exit, Reason, Reports

REPEATING = frozenset({2, 65, 66, 73, 77, 78, 126, 127})
"""Exit codes with which the same command fails again: usage, bad data, missing input, name taken,
permission, configuration, a program that cannot be run."""

TRY_AGAIN, CONFIGURATION = 75, 78
NOT_EXECUTABLE, NOT_FOUND = 126, 127

_ECHOES = frozenset({None, TRY_AGAIN, -signal.SIGABRT})
"""None if it was not started, our code for a lost peer, TensorFlow's abort."""

_NO_IMPORT = re.compile(r"(?:ModuleNotFoundError|ImportError): |.*: No module named ")


@dataclass(frozen=True)
class WorkerLost:
    """The loss of a worker.

    Args:
        text: in words that continue a subject.
        exit_code: exit code of the run, if the gang is not restarted.
    """

    text: str
    exit_code: int = TRY_AGAIN
    reason: Reason = ""

    def cause(self, subject: str, rank: int | None = None) -> "Cause":
        """Make the loss the cause of a generation's end."""
        return Cause(
            kind="lost", text=f"{subject}: {self.text}", exit_code=self.exit_code, rank=rank
        )


@dataclass(frozen=True)
class Cause:
    """The cause that ended a generation before its work was done.

    Args:
        kind: `exit`, a process ended with a code of its own; `signal`, it was killed; `lost`, a
            worker vanished with its process; `allocation` or `registration`, not all workers got
            a container or registered in time; `execution`, the time for the work was over;
            `interrupted`, the launcher got an order to stop; `launcher-lost`, the launcher was
            killed, and the next one recorded it.
        text: one sentence without a full stop.
        exit_code: exit code of the run, if the gang is not restarted.
        rank: rank of the worker, None if the cause is not one worker's alone.
        tail: the last lines of the process's output.
    """

    kind: str
    text: str
    exit_code: int
    rank: int | None = None
    tail: str = ""

    @property
    def repeats(self) -> bool:
        """Whether a restart would fail in the same way."""
        return self.exit_code in REPEATING


def first_cause(reports: Reports, lost: Mapping[int, WorkerLost]) -> Cause:
    """Return the cause of which the other failures are echoes; there is at least one failure.

    An exit code in `REPEATING` comes first: it is the program's verdict on its input. A process
    that was killed or lost comes before one that gave up, perhaps because of that loss. An echo
    comes last. Among equals, the first report counts.
    """
    causes = [_exit_cause(rank, end) for rank, end in reports.exits.items() if end.failed]
    causes += [loss.cause(f"worker {rank} was lost", rank) for rank, loss in lost.items()]
    echoes = {rank for rank, end in reports.exits.items() if end.code in _ECHOES}

    def weight(cause: Cause) -> int:
        if cause.repeats:
            return 0
        if cause.kind != "lost" and cause.rank in echoes:
            return 3
        return 1 if cause.kind in ("lost", "signal") else 2

    return min(causes, key=lambda cause: (weight(cause), cause.rank != reports.first, cause.rank))


def code_after(last: str) -> int:
    """Return the run's exit code after the loss of a worker whose agent wrote *last* at the end.

    A worker that lacks a Python module is not restarted, because the next one would lack it too.
    """
    return CONFIGURATION if _NO_IMPORT.match(last) else TRY_AGAIN


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number: most real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def describe_end(code: int) -> str:
    """Describe an exit code of `subprocess` in words that continue a subject."""
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    if code == NOT_FOUND:
        return "could not be started: there is no such program"
    if code == NOT_EXECUTABLE:
        return "could not be started: the program cannot be run"
    return f"ended with exit code {code}"


def _exit_cause(rank: int, end: Exit) -> Cause:
    code = TRY_AGAIN if end.code is None else end.code
    return Cause(
        kind="signal" if code < 0 else "exit",
        text=f"the process of worker {rank} {end.text or describe_end(code)}",
        exit_code=TRY_AGAIN if code < 0 else code,
        rank=rank,
        tail=end.tail,
    )
