"""Supervise the worker process that decodes, so a decoder that crashes costs one recording.

The worker lives as long as the process that started it, and is restarted if it has to be killed.
It writes heartbeats to a page of shared memory, so the supervisor knows at which recording a worker
died. A recording is blamed only after two workers died at it: the first while it processed several
recordings, the second while it processed this recording alone in a new process or among others.
"""

import atexit
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

from audioloom_featurizer.errors import WorkerLost
from audioloom_featurizer.sandbox.messages import (
    PAGE_BYTES,
    Cause,
    CrashHistory,
    Heartbeat,
    HeartbeatState,
    Refusal,
)
from audioloom_featurizer.sandbox.worker import ERROR

LOOK_SECONDS = 0.2
TRIES = 2


@dataclass(frozen=True)
class WorkerLimits:
    """Memory and time that a worker may use before its recording is refused.

    Attributes:
        memory: resident bytes; watched on Linux only.
        seconds: time without a heartbeat, which each block read and each window computed gives.
    """

    memory: int = 1 << 30
    seconds: float = 300.0


@dataclass(eq=False)
class _WorkerEnded(Exception):
    """The worker died or had to be killed.

    Attributes:
        recording: the recording at which the worker ended; None between recordings.
        refusal: the refusal of that recording.
        certain: whether the recording is to blame without a second death.
    """

    recording: int | None
    refusal: Refusal
    certain: bool


def run_supervised(task: bytes, limits: WorkerLimits, unit: bytes) -> bytes:
    """Process a unit in this process's worker and return the pickled result of the task.

    Units and results stay pickled here, so the supervisor imports none of their modules.

    Args:
        task: the pickled function; the worker calls it with the unit, the `CrashHistory` of the
            unit's recordings and a `Heartbeat`.
        limits: the limits of the worker.
        unit: the pickled unit.

    Raises:
        Exception: the exception that the task raised.
        WorkerLost: the worker died twice between recordings.
    """
    blamed: dict[int, Refusal] = {}
    suspect: int | None = None
    deaths: Counter[int | None] = Counter()
    while True:
        request = pickle.dumps((task, unit, CrashHistory(blamed, suspect)))
        try:
            with _running_worker() as worker:
                answer = worker.do(request, limits)
        except _WorkerEnded as end:
            deaths[end.recording] += 1
            last = deaths[end.recording] == TRIES or end.certain
            if end.recording is None:
                if last:
                    raise WorkerLost(
                        expected="a process that does its unit",
                        found=end.refusal.message,
                        hint="Memory may be short: see --decoder-memory. Run the command again to"
                        " resume.",
                    ) from None
            elif last:
                blamed[end.recording] = end.refusal
            suspect = None if last else end.recording
            continue
        if answer[:1] == ERROR:
            error: Exception = pickle.loads(answer[1:])  # noqa: S301 - from our own worker
            raise error
        return answer[1:]


class Worker:
    """A worker process, the connection to it and the page of its heartbeats."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile(prefix="audioloom-featurizer-") as page:
            page.truncate(PAGE_BYTES)
            self._heartbeat = Heartbeat(mmap.mmap(page.fileno(), PAGE_BYTES))
            self._connection, theirs = Pipe()
            with theirs, _interrupts_blocked():
                fds = (theirs.fileno(), page.fileno())
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "audioloom_featurizer.sandbox.worker"]
                    + [str(fd) for fd in fds],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # stdout is for the result of the command
                    env={**os.environ, "PYTHONPATH": _module_path()},
                    pass_fds=fds,
                )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def do(self, request: bytes, limits: WorkerLimits) -> bytes:
        """Process a unit; raise `_WorkerEnded` if the worker died or had to be killed."""
        try:
            self._connection.send_bytes(request)
            self._wait(limits)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            raise self._died() from None

    def _wait(self, limits: WorkerLimits) -> None:
        last, idle = -1, 0.0  # counted in polls, as this process may be suspended
        while not self._connection.poll(LOOK_SECONDS):
            state = self._heartbeat.read()
            if state.beats != last or state.recording is None:
                last, idle = state.beats, 0.0
            elif (idle := idle + LOOK_SECONDS) > limits.seconds:
                self.kill()
                raise _stalled(state, limits.seconds)
            if state.recording is not None and self._resident() > limits.memory:
                self.kill()
                most = f"{limits.memory >> 20} MiB (--decoder-memory)"
                message = f"expected a process of at most {most}, found more"
                raise _ended(self._heartbeat.read(), "decoder_memory", message)

    def _resident(self) -> int:
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_bytes().split()
        except OSError:  # not Linux, or the process has ended, as the connection will show
            return 0
        return int(fields[1]) * mmap.PAGESIZE

    def _died(self) -> _WorkerEnded:
        state = self._heartbeat.read()
        self._connection.close()
        code = self._process.wait()
        found = f"its process ended by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        message = f"expected a decoder that comes to an end, found {found}"
        return _ended(state, "decoder_died", message)

    def kill(self) -> None:
        """Kill the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _module_path() -> str:
    """The module path without the working folder, where in a container anybody may write."""
    found = filter(os.path.isabs, sys.path)
    return os.pathsep.join(each for each in found if Path(each).resolve() != Path.cwd())


def _stalled(state: HeartbeatState, seconds: float) -> _WorkerEnded:
    if state.waits:
        message = f"expected an answer from storage, found none for {seconds:g} s"
        return _ended(state, "unavailable", message, certain=True)
    message = f"expected samples within {seconds:g} s (--decoder-timeout), found no progress"
    return _ended(state, "decoder_stalled", message, certain=True)


def _ended(
    state: HeartbeatState, kind: Cause, message: str, *, certain: bool = False
) -> _WorkerEnded:
    retryable = kind != "decoder_died"
    refusal = Refusal(kind, state.stage, state.offset, message, retryable)
    return _WorkerEnded(state.recording, refusal, certain)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT: Ctrl-C reaches the whole terminal; a worker must not end before us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_lock = threading.Lock()
idle_workers: list[Worker] = []


@atexit.register
def kill_idle_workers() -> None:
    """Kill this process's worker, which waits for the next unit."""
    while idle_workers:
        idle_workers.pop().kill()


@contextmanager
def _running_worker() -> Iterator[Worker]:
    """Start this process's worker if none is alive; keep it for the next unit unless it fails."""
    with _lock:
        while idle_workers and not idle_workers[-1].alive:
            idle_workers.pop()
        worker = idle_workers.pop() if idle_workers else Worker()
        try:
            yield worker
        except _WorkerEnded:
            raise
        except BaseException:
            worker.kill()
            raise
        idle_workers.append(worker)
