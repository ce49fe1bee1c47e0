"""Workers as real processes on loopback, forked from one that has TensorFlow in memory already."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import TrainingRunManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_trainer.runs.npz import load_arrays
from numpy.typing import NDArray

NETWORK = f"{Path(__file__).with_name('tiny_networks.py')}:dense"

# Below those that the kernel gives to whoever asks for any; others for each of pytest's processes,
# from another one on in another run of pytest at the same time.
_FIRST = 20_000 + 2_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_SHIFT = os.getpid() * 7
_PORTS = itertools.cycle([_FIRST + (_SHIFT + each) % 2_000 for each in range(2_000)])
_HELD: deque[socket.socket] = deque()
_MOST_HELD = 64  # those before belong to gangs that have ended

REUSE = {"TF_GRPC_REUSE_PORT": "true"}
"""Environment of a program whose server shares its port with the socket that holds it."""

Weights = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Ended:
    """A worker that has ended: the exit code, or minus the signal that killed it."""

    code: int
    out: str
    err: str


@dataclass
class Worker:
    """A worker under way."""

    forkserver: ForkServer
    pid: int
    folder: Path
    ended: Ended | None = None

    def wait(self) -> Ended:
        """Wait for its end."""
        if self.ended is None:
            code = self.forkserver.ask(wait=self.pid)["code"]
            texts = ((self.folder / name).read_text() for name in ("out", "err"))
            self.ended = Ended(code, *texts)
        return self.ended


@dataclass
class ForkServer:
    """Starts workers; see `forkserver.py`."""

    folder: Path
    _started: list[Worker] = field(default_factory=list)

    def __enter__(self) -> Self:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "TF_CONFIG" and not name.startswith("AUDIOLOOM_")
        }
        self._errors = (self.folder / "forkserver.err").open("w")
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("forkserver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment | REUSE | {"TF_CPP_MIN_LOG_LEVEL": "2"},
        )
        self._ready = False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._started:
            if worker.ended is None:
                os.kill(worker.pid, 9)
                worker.wait()
        self._process.communicate()
        self._errors.close()

    def ask(self, **order: Any) -> dict[str, Any]:
        """Send a line, read a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if not self._ready:
            self._process.stdout.readline()
            self._ready = True
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, (self.folder / "forkserver.err").read_text()
        return json.loads(answer)  # type: ignore[no-any-return]

    def start(
        self, *words: object, environment: Mapping[str, str] | None = None, **faults: Any
    ) -> Worker:
        """Start one worker.

        Args:
            words: the command line.
            environment: variables besides those that the tests have.
            faults: `kill_at_step`, `told_at_step`, `kill_in_storage`, `storage_gone_at_step`,
                `storage_back_after`, `drift_at_step`, `devices`, `trace`, `blind` (never asks for
                what the chief sends), `timeless` (no line of progress because of the time that
                has passed); see `forkserver.py`.
        """
        folder = self.folder / f"worker-{len(self._started)}"
        folder.mkdir()
        answer = self.ask(
            words=[str(word) for word in words],
            environment={"AUDIOLOOM_LOG_FORMAT": "console", **(environment or {})},
            out=str(folder / "out"),
            err=str(folder / "err"),
            **faults,
        )
        worker = Worker(self, answer["pid"], folder)
        self._started.append(worker)
        return worker

    def run(self, *words: object, **options: Any) -> Ended:
        """One worker, alone, to its end."""
        return self.start(*words, **options).wait()

    def gang(
        self, size: int, *words: object, faults: Sequence[Mapping[str, Any]] = ()
    ) -> list[Ended]:
        """Several workers of one cluster, to their ends; *faults* are theirs in rank order."""
        if size == 1:
            return [self.run(*words, **(faults[0] if faults else {}))]
        each = [*faults, *[{}] * (size - len(faults))]
        configurations = cluster(size)
        workers = [
            self.start(*words, environment={"TF_CONFIG": configuration}, **own)
            for configuration, own in zip(configurations, each, strict=True)
        ]
        return [worker.wait() for worker in workers]


def cluster(size: int) -> list[str]:
    """TF_CONFIG of each worker of a cluster, on ports that are held for servers with `REUSE`."""
    sockets = [_bound() for _ in range(size)]
    _HELD.extend(sockets)
    while len(_HELD) > _MOST_HELD:
        _HELD.popleft().close()
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    task = {"cluster": {"worker": addresses}}
    return [json.dumps(task | {"task": {"type": "worker", "index": rank}}) for rank in range(size)]


def _bound() -> socket.socket:
    """A socket that never listens, at a port of all addresses: so TensorFlow binds it, too."""
    while True:
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            found.bind(("", next(_PORTS)))
        except OSError:
            found.close()
        else:
            return found


def run_of(root: Path, name: str) -> Opened[TrainingRunManifest]:
    """The committed run of that name."""
    return read_manifest(str(root / "runs" / name), expect="training-run")


def bytes_of(run: Opened[TrainingRunManifest], entry: FileEntry) -> bytes:
    """The content of one of a run's files."""
    return Path((run.folder / entry.path).path).read_bytes()


def weights_of(run: Opened[TrainingRunManifest]) -> Weights:
    """The weights that a run has committed."""
    (entry,) = run.files("weights")
    return load_arrays(bytes_of(run, entry))


def difference(one: Weights, other: Weights) -> float:
    """The largest difference between two values of the same place."""
    assert list(one) == list(other)
    return max(
        float(np.max(np.abs(one[name].astype(np.float64) - other[name].astype(np.float64))))
        for name in one
    )
