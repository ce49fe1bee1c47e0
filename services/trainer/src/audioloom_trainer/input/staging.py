"""Bring shards to local disk ahead of need: in reading order, verified, within a budget of bytes.

The run's reading order is known from the start. A few threads bring its shards, as far ahead as the
budget allows. Shards on a mounted file system are verified and read in place, unless they are
compressed or the settings name a cache.

Room is given in reading order. A thread takes the first needed shard that is missing, and the room
for it, in one step. If there is no room, it evicts the copy whose next use lies furthest ahead, but
no copy that is needed earlier than its own shard. On a full disk, only the first shard that is not
here waits for room; the others give up theirs, and come later. So a shard never waits for one that
is needed later, except for one on its way, which ends by itself. The reader gets its next shard
unless the shards that it holds leave no room.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Self

from audioloom_trainer.errors import CacheTooSmall
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.integrity import fill, verified_copy, verify_in_place
from audioloom_trainer.input.needs import Needs, NotNeeded
from audioloom_trainer.input.record_reader import LocalShard, open_local
from audioloom_trainer.runtime.resources import available_cores, give_way
from audioloom_trainer.shards.shard_set import FileRef, Shard, ShardSet

# With two threads one reads while the other hashes and writes, also on a single core.
_LEAST_THREADS, _MOST_THREADS = 2, 4
# The previous reader runs in its own thread and may be about to release its last shards.
STALL_SECONDS = 10.0
_CLOSE_SECONDS = 5.0


class Staging:
    """The shards of one worker, on local disk while they are needed.

    *needs* are the shards that will be held, in that order, perhaps without end. Without a *cache*
    shards are read in place. A thread verifies the files *early* that are needed late, so that
    damage ends the run at the next `hold` and not after hours of training.
    """

    def __init__(
        self,
        shard_set: ShardSet,
        needs: Iterable[Shard],
        *,
        cache: Cache | None,
        early: Sequence[FileRef] = (),
    ) -> None:
        self.shard_set = shard_set
        self._needs = Needs(needs)
        self._cache = cache
        self._change = threading.Condition()
        self._here: dict[str, tuple[Path, Path]] = {}  # verified, by the shard's SHA-256
        self._coming: set[str] = set()
        self._held: dict[str, LocalShard] = {}
        self._holders: Counter[str] = Counter()
        self._stalled_for: Shard | None = None
        self.waited = 0.0
        """Seconds in which shards were asked for that were not there yet."""
        self._failure: BaseException | None = None
        self._full = False  # the disk; then no shard sets out until the first missing one has come
        self._ended = threading.Event()
        self.early: Future[None] = Future()
        """The verification of the files that are needed late."""
        check = partial(self._verify_early, early)
        self._threads = [threading.Thread(target=check, name="early check", daemon=True)]
        for _ in range(min(max(_LEAST_THREADS, available_cores()), _MOST_THREADS)):
            self._threads.append(threading.Thread(target=self._run, name="staging", daemon=True))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._ended.set()
            self._change.notify_all()
            for shard in self._held.values():
                shard.close()
            self._held.clear()
        end = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            thread.join(timeout=max(0.0, end - time.monotonic()))

    def hold(self, shards: Sequence[Shard]) -> dict[int, LocalShard]:
        """Wait for the next shards of `needs` and keep them until their release.

        Raises:
            CacheTooSmall: the budget has no room for all held shards.
            ShardMismatch, UnknownLabel, StorageError: one of the shards or of the files in `early`
                cannot be used.
            CancelledError: staging has ended.
        """
        return {shard.number: self._hold(shard) for shard in shards}

    def release(self, shards: Iterable[Shard]) -> None:
        """Release held shards, so that they may be evicted."""
        with self._change:
            for shard in shards:
                self._holders[shard.sha256] -= 1
                if not self._holders[shard.sha256]:
                    del self._holders[shard.sha256]
                    held = self._held.pop(shard.sha256, None)
                    if held is not None:  # None if staging was closed before the reader
                        held.close()
            if self._stalled_for is not None or self._full:  # there may be room now
                self._stalled_for = None
                self._change.notify_all()

    def replan(self, needs: Iterable[Shard]) -> None:
        """Replace the remaining needs, because the training has ended early, with none held."""
        with self._change:
            self._needs = Needs(needs)
            self._stalled_for = None
            self._change.notify_all()

    def _hold(self, shard: Shard) -> LocalShard:
        key = shard.sha256
        give_up: float | None = None
        with self._change:
            if self.early.done():
                self.early.result()
            asked = time.monotonic()
            while key not in self._here:
                if self._failure is not None and key not in self._coming:
                    raise self._failure
                if self._stalled_for is None or self._coming:  # room may come with the others
                    give_up = None
                elif give_up is None:
                    give_up = time.monotonic() + STALL_SECONDS
                elif time.monotonic() >= give_up:
                    raise self._too_small(self._stalled_for)
                self._needs.place(shard)
                self._wait(1.0)
            self.waited += time.monotonic() - asked
            self._needs.meet(shard)
            self._holders[key] += 1
            if not self._needs.is_searched:  # to wake all threads in vain takes as long as reading
                self._change.notify_all()
            if key not in self._held:
                data, index = self._here[key]
                parsed = self.shard_set.parse_index(shard, index.read_bytes())
                self._held[key] = open_local(data, parsed, numbers=self.shard_set.classes is None)
            return self._held[key]

    def _verify_early(self, files: Sequence[FileRef]) -> None:
        try:
            for file in files:
                verify_in_place(file, given_up=self._ended)
        except Exception as error:  # noqa: BLE001  (`hold` raises it)
            self.early.set_exception(error)
        else:
            self.early.set_result(None)

    def _run(self) -> None:
        give_way()
        try:
            while True:
                self._fetch(self._next())
        except BaseException as error:  # noqa: BLE001  (the waiting thread raises it)
            with self._change:
                self._failure = self._failure or error
                self._change.notify_all()

    def _next(self) -> Shard:
        """Take the first need that is missing, as soon as there is room for it."""
        with self._change:
            while True:
                shard = None
                if self._failure is None and not (self._full and self._coming):
                    shard = self._needs.first_missing(self._here, self._coming)
                if shard is not None and shard is not self._stalled_for:
                    if self._reserve(shard):
                        self._coming.add(shard.sha256)
                        return shard
                    self._stalled_for = shard
                    self._change.notify_all()
                self._wait()

    def _reserve(self, shard: Shard) -> bool:
        """Count the bytes of a missing shard, after evictions; False if they give too little."""
        cache = self._cache
        if cache is not None:
            while cache.used - cache.sizes.get(shard.sha256, 0) + shard.bytes > cache.limit:
                if not self._evict_for(shard, cache):
                    return False
            cache.sizes[shard.sha256] = shard.bytes
        return True

    def _fetch(self, shard: Shard) -> None:
        try:
            if self._cache is None:
                for file in (shard.data, shard.index):
                    verify_in_place(file, given_up=self._ended)
                self._here[shard.sha256] = _path(shard.data), _path(shard.index)
            else:
                self._copy(shard, self._cache)
        except BaseException as error:
            self._failure = self._failure or error  # before anybody finds the shard missing
            raise
        finally:
            with self._change:
                self._coming.discard(shard.sha256)
                self._needs.start_over()  # it may have given way, or made others missing
                self._stalled_for = None
                self._change.notify_all()

    def _copy(self, shard: Shard, cache: Cache) -> None:
        """Copy a shard to the cache; on a full disk, it may have to give way to an earlier one."""
        paths = cache.paths(shard.sha256)
        evict = partial(self._evict_from_full_disk, shard, cache)
        wait = partial(self._wait_for_disk, shard)
        try:
            for file, path in zip((shard.data, shard.index), paths, strict=True):
                copy = partial(verified_copy, file, path, given_up=self._ended)
                fill(copy, path, file.content.bytes, evict=evict, wait=wait)
        except NotNeeded:
            with self._change:
                cache.remove(shard.sha256)
            return
        with self._change:
            self._full = self._full and not self._needs.leads(shard, self._here)
            self._here[shard.sha256] = paths

    def _evict_for(self, shard: Shard, cache: Cache) -> bool:
        """Remove the copy with the furthest next use; False if all are needed before that shard."""
        with self._change:
            free = cache.sizes.keys() - self._coming - self._holders.keys()
            victim = self._needs.last_needed(free, self._needs.place(shard))
            if victim is None:
                return False
            self._here.pop(victim, None)
            cache.remove(victim)
            return True

    def _evict_from_full_disk(self, shard: Shard, cache: Cache) -> bool:
        with self._change:
            self._full = True  # nobody else may take the room
            return self._evict_for(shard, cache)

    def _wait_for_disk(self, shard: Shard, seconds: float) -> None:
        """Wait if this is the first shard that is not here; others give way with NotNeeded."""
        with self._change:
            self._full = True
            if self._needs.leads(shard, self._here):
                self._wait(seconds)
            if not self._needs.leads(shard, self._here):
                raise NotNeeded

    def _wait(self, seconds: float | None = None) -> None:
        """Wait for a change, at most *seconds*; raise CancelledError if staging has ended."""
        with self._change:
            if not self._ended.is_set():
                self._change.wait(seconds)
            if self._ended.is_set():
                raise CancelledError

    def _too_small(self, shard: Shard) -> CacheTooSmall:
        limit, used = (self._cache.limit, self._cache.used) if self._cache else (0, 0)
        return CacheTooSmall(
            where="--cache-bytes",
            expected=f"room for the shards that are read together and {shard.bytes} bytes more",
            found=f"{limit} bytes, of which {used} are in use",
            hint="Raise --cache-bytes, lower --shuffle-window, or train with more replicas.",
        )


def _path(file: FileRef) -> Path:
    return Path(os.fsdecode(file.location.path))
