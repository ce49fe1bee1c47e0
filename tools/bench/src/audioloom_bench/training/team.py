"""Processes that do one piece of work again and again, and say what each time took.

Each lane has processes of its own: TensorFlow can be set up once in a process, and what one lane
does to its allocator or to its threads would change another one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

Notes = Mapping[str, float]
Work = Callable[[], Notes | None]
"""One go; what it notes are seconds, by name, of what it measured inside."""


@dataclass(frozen=True)
class Tidied:
    """Work that leaves files behind, which are removed after each go, outside its time."""

    work: Work
    tidy: Callable[[], None]

    def __call__(self) -> Notes | None:
        """Do the work once."""
        return self.work()


_GO = "go"
# What quiets the other benchmarks is not what users have.
_NOT_FOR_LANES = ("MALLOC_", "OMP_", "OPENBLAS_")


@dataclass(frozen=True)
class Taken:
    """What one go took."""

    seconds: float
    """By the clock on the wall, of the slowest process."""
    cpu: float
    """Processor seconds, of all processes."""
    notes: Notes = field(default_factory=dict)
    """Of the first process."""


class Team:
    """The processes of a lane; all of them begin each go together."""

    def __init__(self, members: Sequence[tuple[BaseProcess, Connection]]) -> None:
        self._members = members
        self._waited_for = False

    def go(self) -> Taken:
        """Do the work once.

        Raises:
            RuntimeError: a process ended.
        """
        if not self._waited_for:
            self._answers()
            self._waited_for = True
        for _, pipe in self._members:
            pipe.send(_GO)
        taken = self._answers()
        return Taken(
            max(each.seconds for each in taken), sum(each.cpu for each in taken), taken[0].notes
        )

    def _answers(self) -> list[Taken]:
        try:
            return [pipe.recv() for _, pipe in self._members]
        except EOFError:
            raise RuntimeError("a process of a lane ended early; why is above") from None

    @property
    def megabytes(self) -> float:
        """The most memory that the processes ever held, each by itself, added up."""
        return sum(_most_megabytes(process.pid) for process, _ in self._members)

    def end(self) -> None:
        """Kill them: they hold nothing that matters."""
        for process, _ in self._members:
            process.kill()
        for process, _ in self._members:
            process.join()


@contextmanager
def team(make: Callable[..., Work], *arguments: object, size: int = 1) -> Iterator[Team]:
    """Start the processes of a lane; they get ready while others start.

    Args:
        make: called once in each process, by its name there; answers the work.
        arguments: for *make*.
        size: processes; several find each other by TF_CONFIG.
    """
    context = multiprocessing.get_context("spawn")
    members: list[tuple[BaseProcess, Connection]] = []
    with ExitStack() as stack:
        for variables in _configurations(size):
            own, other = context.Pipe()
            target = (other, variables, make, arguments)
            process = context.Process(target=_serve, args=target, daemon=True)
            with _as_users_have_it():
                process.start()
            other.close()
            members.append((process, own))
        lane = Team(members)
        stack.callback(lane.end)
        yield lane


def interleaved(lanes: Mapping[str, Team], rounds: int) -> dict[str, list[Taken]]:
    """Let every lane go in turn, every other round backwards, after one unmeasured go."""
    found: dict[str, list[Taken]] = {name: [] for name in lanes}
    for lane in lanes.values():
        lane.go()
    names = list(lanes)
    for number in range(rounds):
        for name in names[::-1] if number % 2 else names:
            found[name].append(lanes[name].go())
    return found


def _serve(
    pipe: Connection,
    variables: Mapping[str, str],
    make: Callable[..., Work],
    arguments: Sequence[object],
) -> None:
    os.environ.update(variables)
    work = make(*arguments)
    pipe.send(Taken(0.0, 0.0))
    while pipe.recv() == _GO:
        wall, cpu = time.perf_counter(), time.process_time()
        notes = work()
        taken = Taken(time.perf_counter() - wall, time.process_time() - cpu, notes or {})
        if isinstance(work, Tidied):
            work.tidy()
        pipe.send(taken)


def _configurations(size: int) -> list[dict[str, str]]:
    """TF_CONFIG of each worker, on ports that were free; none for one that is alone."""
    if size == 1:
        return [{}]
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(size)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    return [
        {
            "TF_CONFIG": json.dumps(
                {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}}
            )
        }
        for rank in range(size)
    ]


@contextmanager
def _as_users_have_it() -> Iterator[None]:
    before = dict(os.environ)
    for name in before:
        if name.startswith(_NOT_FOR_LANES) or name == "TF_CONFIG":
            del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(before)


def _most_megabytes(process: int | None) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
