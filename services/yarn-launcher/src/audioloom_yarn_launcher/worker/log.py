"""The log of a worker's process, in the run folder on any storage.

On a file system the process writes `logs/<rank>.<attempt>.log` itself, so nothing in between can
fail, fill up or lag. Other storage can only publish whole files. There the process writes to a
local file, and a thread publishes the new part as `logs/<rank>.<attempt>.<k>.log`, k = 0, 1, …:
after ten seconds, then less and less often, and whenever the new part is large. In a container the
local file is in YARN's log folder, so its node shows it, and is removed at the end. A process
without output has an empty log; a process that was lost may have none.
"""

import fcntl
import os
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from audioloom_stage.escapes import safe_text
from audioloom_storage import Location, StorageError, create, list_folder, make_folder

from audioloom_yarn_launcher.runs.layout import appends

FIRST_WAIT_S, MOST_WAIT_S = 10.0, 600.0
MOST_WAITING_BYTES = 16 << 20
CHUNK_BYTES = 1 << 20
LOOK_EVERY_S = 1.0
LOG_DIRS = "LOG_DIRS"
_NODE = ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID")


def open_log(
    folder: Location, rank: int, attempt: int, *, again: bool = False
) -> "DirectLog | PublishedLog":
    """Open a new log in the run folder, or with *again* that of an earlier process of this attempt.

    Raises:
        FileExistsError: this rank has a log of this attempt already.
    """
    logs = folder / "logs"
    make_folder(logs)
    return (DirectLog if appends(logs) else PublishedLog)(logs, rank, attempt, again=again)


def warn(descriptor: int, text: str) -> None:
    """Write a line of the launcher into the command's output; a full disk loses it."""
    with suppress(OSError):
        os.write(descriptor, f"audioloom-yarn-launcher: warning: {text}\n".encode())


def _open_shown(name: str) -> tuple[int, Path | None]:
    """Open a new file in YARN's log folder, which its node shows, else a nameless file."""
    folder = os.environ.get(LOG_DIRS, "").partition(",")[0]
    if folder and all(os.environ.get(each) for each in _NODE):
        path = Path(folder, name)
        with suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
            return os.open(path, flags, 0o640), path
    descriptor, temporary = tempfile.mkstemp()
    Path(temporary).unlink()  # a nameless file leaves nothing behind
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    return descriptor, None


def _page(name: str) -> str:
    host, port, container = (os.environ[each] for each in _NODE)
    return f"{host}:{port}/ws/v1/node/containers/{container}/logs/{name}"


class DirectLog:
    """A log that the process writes into the run folder itself, through the descriptor `output`."""

    page = ""

    def __init__(self, logs: Location, rank: int, attempt: int, *, again: bool = False) -> None:
        path = (logs / f"{rank}.{attempt}.log").path
        new = 0 if again else os.O_EXCL
        self.output = os.open(path, os.O_RDWR | os.O_CREAT | new | os.O_APPEND, 0o600)

    def close(self) -> None:
        """Close the file; the process wrote to the run folder itself."""
        os.close(self.output)


class PublishedLog:
    """A log that is published in pieces; its YARN node shows it at `page`, if that is not ""."""

    def __init__(self, logs: Location, rank: int, attempt: int, *, again: bool = False) -> None:
        self._logs, self._stem = logs, f"{rank}.{attempt}"
        self.output, self._shown = _open_shown(f"{self._stem}.log")
        # The node's file starts empty, because earlier pieces are in the run folder.
        self.page = "" if self._shown is None or again else _page(self._shown.name)
        self._published = 0
        self._pieces = self._pieces_of_before() if again else 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._mirror, name="log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Publish the rest; if the storage fails, the rest is lost and the run goes on."""
        self._over.set()
        self._thread.join()
        if self._waiting() or not self._pieces:
            self.publish()
        os.close(self.output)
        if self._shown is not None:
            self._shown.unlink(missing_ok=True)  # the run folder has all of it

    def _mirror(self) -> None:
        wait, waited = FIRST_WAIT_S, 0.0
        while not self._over.wait(LOOK_EVERY_S):
            waited += LOOK_EVERY_S
            waiting = self._waiting()
            if waiting >= MOST_WAITING_BYTES or waited >= wait:
                if waiting:
                    self.publish()
                wait, waited = min(2 * wait, MOST_WAIT_S), 0.0

    def _pieces_of_before(self) -> int:
        names = [each.location.name for each in list_folder(self._logs)]
        return sum(name.startswith(f"{self._stem}.") for name in names)

    def _waiting(self) -> int:
        return os.fstat(self.output).st_size - self._published

    def publish(self) -> None:
        """Publish the new part as the next piece."""
        end = self._published + self._waiting()
        number, self._pieces = self._pieces, self._pieces + 1
        try:
            with create(self._logs / f"{self._stem}.{number}.log", private=True) as piece:
                position = self._published
                while position < end:
                    data = os.pread(self.output, min(CHUNK_BYTES, end - position), position)
                    piece.write(data)
                    position += len(data)
        except StorageError as error:  # outcome unknown: the next piece starts here again
            sys.stderr.write(f"log not published yet: {safe_text(error)}\n")
            return
        self._published = end
