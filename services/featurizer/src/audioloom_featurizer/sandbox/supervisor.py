"""Units done in a child process that is watched: a decoder that dies costs one recording.

The child lives as long as the worker it belongs to and is started anew when it had to end. It tells
where it is on a page of shared memory (`pulse`), so that whatever ends it has a recording's name.
A recording is blamed for the death of its process only when that happens twice: once among others,
and once tried alone in a new process, or among others again.
"""

from __future__ import annotations

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
from audioloom_featurizer.sandbox.heartbeat import PAGE_BYTES, Beat, Pulse
from audioloom_featurizer.sandbox.outcome import Cause, Trial, Verdict
from audioloom_featurizer.sandbox.worker import ERROR

LOOK_SECONDS = 0.2
TRIES = 2


@dataclass(frozen=True)
class Limits:
    """What the process that decodes may take before its recording is given up.

    Attributes:
        memory: bytes resident; watched on Linux only.
        seconds: without a sign of life: a block read, a window made.
    """

    memory: int = 1 << 30
    seconds: float = 300.0


class _Ended(Exception):
    """The child had to be ended, or ended itself."""

    def __init__(self, verdict: Verdict, recording: int | None, *, certain: bool = False) -> None:
        self.verdict = verdict
        self.recording = recording
        self.certain = certain


def do_supervised(task: bytes, limits: Limits, unit: bytes) -> bytes:
    """Do a unit in this process's child; answer what the task did.

    Units and answers are pickled, and stay so here: what they are made of need not be imported.

    Args:
        task: called with the unit, what is known of its recordings (`Trial`) and a `Pulse`.
        limits: what the child may take.
        unit: what to do.

    Raises:
        Exception: what the task raised.
        WorkerLost: the child died twice while it was at no recording.
    """
    guilty: dict[int, Verdict] = {}
    suspect: int | None = None
    deaths: Counter[int | None] = Counter()
    while True:
        wanted = pickle.dumps((task, unit, Trial(guilty, suspect)))
        try:
            with _the_child() as child:
                answer = child.do(wanted, limits)
        except _Ended as end:
            deaths[end.recording] += 1
            last = deaths[end.recording] == TRIES or end.certain
            if end.recording is None:
                if last:
                    raise WorkerLost(
                        expected="a process that does its unit",
                        found=end.verdict.message,
                        hint="Memory may be short: see --decoder-memory. The same command goes on.",
                    ) from None
            elif last:
                guilty[end.recording] = end.verdict
            suspect = None if last else end.recording
            continue
        if answer[:1] == ERROR:
            error: Exception = pickle.loads(answer[1:])  # noqa: S301 - from our own child
            raise error
        return answer[1:]


class _Child:
    """A process of our own, and what connects us."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile(prefix="audioloom-featurizer-") as page:
            page.truncate(PAGE_BYTES)
            self.pulse = Pulse(mmap.mmap(page.fileno(), PAGE_BYTES))
            self._connection, theirs = Pipe()
            with theirs, _deaf_to_interrupts():
                fds = (theirs.fileno(), page.fileno())
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "audioloom_featurizer.sandbox.worker",
                        *map(str, fds),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # ours is for results
                    env={**os.environ, "PYTHONPATH": _path()},
                    pass_fds=fds,
                )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def do(self, wanted: bytes, limits: Limits) -> bytes:
        """Have a unit done.

        Raises:
            _Ended: the child is no more.
        """
        try:
            self._connection.send_bytes(wanted)
            self._wait(limits)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            raise self._died(self.pulse.read()) from None

    def _wait(self, limits: Limits) -> None:
        """Until there is an answer, or none can be hoped for."""
        last, idle = -1, 0.0  # by looks, not by the clock: we may have been asleep ourselves
        while not self._connection.poll(LOOK_SECONDS):
            beat = self.pulse.read()
            if beat.beats != last or beat.recording is None:
                last, idle = beat.beats, 0.0
            elif (idle := idle + LOOK_SECONDS) > limits.seconds:
                self.kill()
                raise _stalled(beat, limits)
            if beat.recording is not None and self._resident() > limits.memory:
                self.kill()
                raise _too_large(self.pulse.read(), limits)

    def _resident(self) -> int:
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_bytes().split()
        except OSError:  # no Linux; or the process has ended, which the connection will tell
            return 0
        return int(fields[1]) * mmap.PAGESIZE

    def _died(self, beat: Beat) -> _Ended:
        self._connection.close()
        code = self._process.wait()
        found = f"its process ended by {_name(-code)}" if code < 0 else f"exit code {code}"
        message = f"expected a decoder that comes to an end, found {found}"
        return _Ended(_verdict("decoder_died", beat, message, retryable=False), beat.recording)

    def kill(self) -> None:
        """End it, whatever it does."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _path() -> str:
    """Where modules are found here, but for the working folder: a container's is among it."""
    found = filter(os.path.isabs, sys.path)
    return os.pathsep.join(each for each in found if Path(each).resolve() != Path.cwd())


def _stalled(beat: Beat, limits: Limits) -> _Ended:
    if beat.waits:
        message = f"expected an answer from storage, found none for {limits.seconds:g} s"
        verdict = _verdict("unavailable", beat, message, retryable=True)
    else:
        message = (
            f"expected samples within {limits.seconds:g} s (--decoder-timeout), found no progress"
        )
        verdict = _verdict("decoder_stalled", beat, message, retryable=True)
    return _Ended(verdict, beat.recording, certain=True)


def _too_large(beat: Beat, limits: Limits) -> _Ended:
    message = (
        f"expected a process of at most {limits.memory >> 20} MiB (--decoder-memory), found more"
    )
    return _Ended(_verdict("decoder_memory", beat, message, retryable=True), beat.recording)


def _verdict(kind: Cause, beat: Beat, message: str, *, retryable: bool) -> Verdict:
    return Verdict(kind, beat.stage, beat.offset, message, retryable)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; a child ends when we do, and not before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_lock = threading.Lock()
_kept: list[_Child] = []


@atexit.register
def _end_the_child() -> None:
    while _kept:
        _kept.pop().kill()


@contextmanager
def _the_child() -> Iterator[_Child]:
    """This process's child, started if it is not there; kept for the next unit if all goes well."""
    with _lock:
        while _kept and not _kept[-1].alive:
            _kept.pop()
        child = _kept.pop() if _kept else _Child()
        try:
            yield child
        except _Ended:
            raise
        except BaseException:
            child.kill()
            raise
        _kept.append(child)
