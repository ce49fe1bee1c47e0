"""Where the output of a worker's process goes: into the run folder, whatever storage that is on.

On a file system the process writes `logs/<rank>.<attempt>.log` itself: nothing is in between that
could fail, fill up or fall behind. Elsewhere files can only be published whole, so it writes to a
local file, and a thread publishes what has been added as `logs/<rank>.<attempt>.<k>.log`, k = 0, 1,
…: after ten seconds, then more and more seldom, and whenever much has come. In a container that
file lies where its node shows it, to who cannot wait (`node_logs`), and is taken away in the end. A
process that said nothing has a log too, an empty one: else nobody could tell it from a lost one.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from audioloom_stage import safe_text
from audioloom_storage import Location, StorageError, create, list_folder, make_folder

from audioloom_yarn_launcher.runs.layout import appends

FIRST_WAIT_S, MOST_WAIT_S = 10.0, 600.0
MOST_WAITING_BYTES = 16 << 20
CHUNK_BYTES = 1 << 20
LOOK_EVERY_S = 1.0
LOG_DIRS = "LOG_DIRS"
_NODE = ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID")


class WorkerLog(Protocol):
    """The log of one process."""

    @property
    def output(self) -> int:
        """The descriptor that the process writes to."""

    @property
    def page(self) -> str:
        """Where a node of YARN shows what is written, at once; "" where it stands in the folder."""

    def close(self) -> None:
        """Make everything written so far stand in the run folder."""


def open_log(folder: Location, rank: int, attempt: int, *, again: bool = False) -> WorkerLog:
    """A new log in the run folder *folder*.

    Args:
        folder: of the run.
        rank: of the worker.
        attempt: in which its process is started.
        again: not for the first time; what it writes follows.

    Raises:
        FileExistsError: there is one already, so this rank and attempt ran before.
    """
    logs = folder / "logs"
    make_folder(logs)
    return (DirectLog if appends(logs) else PublishedLog)(logs, rank, attempt, again=again)


def say(descriptor: int, text: str) -> None:
    """Add a line of the launcher's own to what the command says. A disk that is full costs it."""
    with suppress(OSError):
        os.write(descriptor, f"audioloom-yarn-launcher: warning: {text}\n".encode())


def _open_shown(name: str) -> tuple[int, Path | None]:
    """A new file to write to: where YARN shows it while it is written, else one without a name."""
    folder = os.environ.get(LOG_DIRS, "").partition(",")[0]
    if folder and all(os.environ.get(each) for each in _NODE):
        path = Path(folder, name)
        with suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            return os.open(path, flags, 0o640), path
    descriptor, temporary = tempfile.mkstemp()
    Path(temporary).unlink()  # nobody needs its name, and so nothing is left behind
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    return descriptor, None


def _page(name: str) -> str:
    host, port, container = (os.environ[each] for each in _NODE)
    return f"{host}:{port}/ws/v1/node/containers/{container}/logs/{name}"


class DirectLog:
    """A log that the process writes into the run folder itself."""

    page = ""

    def __init__(self, logs: Location, rank: int, attempt: int, *, again: bool = False) -> None:
        path = (logs / f"{rank}.{attempt}.log").path
        new = 0 if again else os.O_EXCL
        self.output = os.open(path, os.O_RDWR | os.O_CREAT | new | os.O_APPEND, 0o600)

    def close(self) -> None:
        """Nothing is left to do but to close it."""
        os.close(self.output)


class PublishedLog:
    """A log that is published in pieces."""

    def __init__(self, logs: Location, rank: int, attempt: int, *, again: bool = False) -> None:
        self._logs, self._stem = logs, f"{rank}.{attempt}"
        self.output, self._shown = _open_shown(f"{self._stem}.log")
        # What a node shows begins anew, and would be taken for what stands in pieces already.
        self.page = "" if self._shown is None or again else _page(self._shown.name)
        self._published = 0
        self._pieces = self._pieces_of_before() if again else 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._mirror, name="log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Publish the rest. A storage that fails costs the rest of the log, not the run."""
        self._over.set()
        self._thread.join()
        if self._waiting() or not self._pieces:
            self._publish()
        os.close(self.output)
        if self._shown is not None:
            self._shown.unlink(missing_ok=True)  # it all stands in the run folder

    def _mirror(self) -> None:
        wait, waited = FIRST_WAIT_S, 0.0
        while not self._over.wait(LOOK_EVERY_S):
            waited += LOOK_EVERY_S
            waiting = self._waiting()
            if waiting >= MOST_WAITING_BYTES or waited >= wait:
                if waiting:
                    self._publish()
                wait, waited = min(2 * wait, MOST_WAIT_S), 0.0

    def _pieces_of_before(self) -> int:
        names = [each.location.name for each in list_folder(self._logs)]
        return sum(name.startswith(f"{self._stem}.") for name in names)

    def _waiting(self) -> int:
        return os.fstat(self.output).st_size - self._published

    def _publish(self) -> None:
        end = self._published + self._waiting()
        number, self._pieces = self._pieces, self._pieces + 1
        try:
            with create(self._logs / f"{self._stem}.{number}.log", private=True) as piece:
                position = self._published
                while position < end:
                    data = os.pread(self.output, min(CHUNK_BYTES, end - position), position)
                    piece.write(data)
                    position += len(data)
        except StorageError as error:  # it may be there or not: the next piece begins here again
            sys.stderr.write(f"the log cannot be mirrored now: {safe_text(error)}\n")
            return
        self._published = end
