"""The log of a worker's process, in the run folder on any storage.

On a file system the process writes `logs/<rank>/<attempt>.log` itself, so nothing in between can
fail, fill up or lag. Elsewhere the process writes to a local file, and a thread publishes it in
pieces. In a container the local file is in YARN's log folder, so its node shows it, and is removed
at the end. A process without output has an empty log; a process that was lost may have none.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from audioloom_storage import Location, make_folder

from audioloom_yarn_launcher.runs.layout import appends, log_folder
from audioloom_yarn_launcher.system.files import nameless
from audioloom_yarn_launcher.worker.log_pieces import LogPieces

LOOK_EVERY_S = 1.0
LOG_DIRS = "LOG_DIRS"
_NODE = ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID")


def open_log(
    run: Location, rank: int, attempt: int, size: int = 1, *, again: bool = False
) -> "DirectLog | PublishedLog":
    """Open a new log in the run folder, or with *again* that of an earlier process of this attempt.

    The *size* of the run, in processes, decides how often pieces of a log are published.
    FileExistsError if this rank has a log of this attempt already.
    """
    if appends(run):
        return DirectLog(run, rank, attempt, again=again)
    return PublishedLog(run, rank, attempt, size, again=again)


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
    return nameless(), None


class DirectLog:
    """A log that the process writes into the run folder itself, through the descriptor `output`."""

    page = ""

    def __init__(self, run: Location, rank: int, attempt: int, *, again: bool = False) -> None:
        folder = log_folder(run, rank)
        make_folder(folder)
        new = 0 if again else os.O_EXCL
        flags = os.O_RDWR | os.O_CREAT | new | os.O_APPEND
        self.output = os.open((folder / f"{attempt}.log").path, flags, 0o600)

    def close(self) -> None:
        """Close the file; the process wrote to the run folder itself."""
        os.close(self.output)


class PublishedLog:
    """A log that is published in pieces; its YARN node shows it at `page`, if that is not ""."""

    def __init__(
        self, run: Location, rank: int, attempt: int, size: int = 1, *, again: bool = False
    ) -> None:
        self.output, self._shown = _open_shown(f"{rank}.{attempt}.log")
        self.page = ""
        if self._shown is not None and not again:  # again: earlier pieces are in the run folder
            host, port, container = (os.environ[each] for each in _NODE)
            self.page = f"{host}:{port}/ws/v1/node/containers/{container}/logs/{self._shown.name}"
        folder, now = log_folder(run, rank), time.monotonic()
        self._pieces = LogPieces(folder, attempt, self.output, size, again=again, now=now)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._mirror, name="log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Publish the rest; if the storage fails, the rest is lost and the run goes on."""
        self._over.set()
        self._thread.join()
        self._pieces.finish()
        os.close(self.output)
        if self._shown is not None:
            self._shown.unlink(missing_ok=True)  # the run folder has all of it

    def _mirror(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self._pieces.look(time.monotonic())
