"""The log of a worker's process, in the run folder on any storage.

On a file system the process writes `logs/<rank>/<attempt>.log` itself, so nothing in between can
fail, fill up or lag. Elsewhere the process writes to a local file, and a thread publishes it in
pieces. In a container the local file is in YARN's log folder, so its node shows it, and is removed
at the end. A process without output has an empty log; a process that was lost may have none.

    logs/<rank>/<attempt>.<begin>-<end>.log    the bytes of the log from begin to before end

A piece holds the new bytes: after some seconds, then less and less often, and when there are many.
Small pieces are merged into one that holds all of their bytes, so a log has few. Pieces may overlap
after a failure, and their names say where. Each piece costs the NameNode some calls. So the workers
of a large gang publish more seldom than those of a small one, and at different moments.
"""

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from audioloom_stage.escapes import safe_text
from audioloom_storage import AlreadyExists, Location, StorageError, create, make_folder, remove

from audioloom_yarn_launcher.runs.layout import appends, entries, log_folder, log_piece, log_span
from audioloom_yarn_launcher.system.files import nameless

FIRST_WAIT_S, MOST_WAIT_S = 10.0, 600.0
PIECES_A_SECOND = 5.0
"""Of a whole gang, at most; a piece takes eight calls of a NameNode, and a merge three for each."""
MOST_WAITING_BYTES = 16 << 20
MERGE_AT, MERGED_BYTES = 12, 64 << 20
"""So many small pieces are merged; a piece of so many bytes is not small any more."""
CHUNK_BYTES = 1 << 20
LOOK_EVERY_S = 1.0
LOG_DIRS = "LOG_DIRS"
_NODE = ("NM_HOST", "NM_HTTP_PORT", "CONTAINER_ID")


class LogPieces:
    """Publishes a file that grows, *source*, as the pieces of a log.

    Args:
        size: number of processes that publish logs.
        again: the log continues that of an earlier process of this attempt.
        now: time of the start, by the clock whose time `look` gets.
        chance: spreads the pieces of many workers, from 0 to 1.
    """

    def __init__(
        self,
        folder: Location,
        attempt: int,
        source: int,
        size: int,
        *,
        again: bool = False,
        now: float = 0.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._folder, self._attempt, self._source, self._chance = folder, attempt, source, chance
        self._wait = self._least = max(FIRST_WAIT_S, size / PIECES_A_SECOND)
        spans = [log_span(entry, attempt) for entry in entries(folder)] if again else []
        self._before = max((end for _, end in filter(None, spans)), default=0)
        self._published, self._mergeable_from = 0, 0
        self._small: list[Location] = []
        self._any = again
        self._plan(now)

    def look(self, now: float) -> None:
        """Publish the new part if it is time, or if there is much of it."""
        waiting = self._waiting()
        if now < (self._due if waiting < MOST_WAITING_BYTES else self._soonest):
            return
        if waiting:
            self.publish()
        self._wait = min(2 * self._wait, max(MOST_WAIT_S, self._least))
        self._plan(now)

    def finish(self) -> None:
        """Publish the rest; a log without any output is an empty piece."""
        if self._waiting() or not self._any:
            self.publish()

    def publish(self) -> None:
        """Publish the new part as the next piece; merge the small pieces if there are many."""
        waiting = self._waiting()
        end = self._published + waiting
        piece = self._put(self._published, end)
        if piece is None:
            return  # nothing published, or outcome unknown: the next piece starts here again
        self._published, self._any = end, True
        self._small.append(piece)
        if len(self._small) >= MERGE_AT:
            self._merge()

    def _plan(self, now: float) -> None:
        self._soonest = now + self._least
        self._due = now + self._wait * (0.5 + self._chance())

    def _merge(self) -> None:
        merged = self._put(self._mergeable_from, self._published)
        if merged is None:
            return
        for piece in self._small:
            with suppress(StorageError):
                remove(piece, within=self._folder)
        self._small = [merged]
        if self._published - self._mergeable_from >= MERGED_BYTES:
            self._small, self._mergeable_from = [], self._published

    def _put(self, begin: int, end: int) -> Location | None:
        """Publish these bytes of the file; return the piece, None if that failed."""
        span = (self._before + begin, self._before + end)
        where = self._folder / log_piece(self._attempt, span)
        try:
            with create(where, private=True) as piece:
                for data in self._read(begin, end):
                    piece.write(data)
        except EOFError:
            self._start_over()
            return None
        except AlreadyExists:
            return where  # an earlier try, whose outcome was unknown
        except StorageError as error:
            sys.stderr.write(f"log not published yet: {safe_text(error)}\n")
            return None
        return where

    def _read(self, begin: int, end: int) -> Iterator[bytes]:
        while begin < end:
            data = os.pread(self._source, min(CHUNK_BYTES, end - begin), begin)
            if not data:
                raise EOFError("the command has truncated its output")
            yield data
            begin += len(data)

    def _waiting(self) -> int:
        size = os.fstat(self._source).st_size
        if size < self._published:
            self._start_over()
        return size - self._published

    def _start_over(self) -> None:
        """Go on behind what is published: `> /dev/stderr` in a script truncates the file."""
        self._before += self._published
        self._published, self._mergeable_from, self._small = 0, 0, []


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
