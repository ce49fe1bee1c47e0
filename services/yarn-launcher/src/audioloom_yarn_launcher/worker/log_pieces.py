"""The pieces of a log, on storage that can only publish whole files.

    logs/<rank>/<attempt>.<begin>-<end>.log    the bytes of the log from begin to before end

A piece holds the new bytes: after some seconds, then less and less often, and when there are many.
Small pieces are merged into one that holds all of their bytes, so a log has few. Pieces may overlap
after a failure, and their names say where. Each piece costs the NameNode some calls. So the workers
of a large gang publish more seldom than those of a small one, and at different moments.
"""

import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress

from audioloom_stage.escapes import safe_text
from audioloom_storage import AlreadyExists, Location, StorageError, create, remove

from audioloom_yarn_launcher.runs.layout import entries, log_piece, log_span

FIRST_WAIT_S, MOST_WAIT_S = 10.0, 600.0
PIECES_A_SECOND = 5.0
"""Of a whole gang, at most; a piece takes eight calls of a NameNode, and a merge three for each."""
MOST_WAITING_BYTES = 16 << 20
MERGE_AT, MERGED_BYTES = 12, 64 << 20
"""So many small pieces are merged; a piece of so many bytes is not small any more."""
CHUNK_BYTES = 1 << 20


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
        end = self._published + self._waiting()
        piece = self._put(self._published, end)
        if piece is None:
            return  # outcome unknown: the next piece starts here again
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
        """Publish these bytes of the file; return the piece, None if the storage failed."""
        span = (self._before + begin, self._before + end)
        where = self._folder / log_piece(self._attempt, span)
        try:
            with create(where, private=True) as piece:
                while begin < end:
                    data = os.pread(self._source, min(CHUNK_BYTES, end - begin), begin)
                    piece.write(data)
                    begin += len(data)
        except AlreadyExists:
            return where  # an earlier try, whose outcome was unknown
        except StorageError as error:
            sys.stderr.write(f"log not published yet: {safe_text(error)}\n")
            return None
        return where

    def _waiting(self) -> int:
        return os.fstat(self._source).st_size - self._published
