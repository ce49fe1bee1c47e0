"""Bring shards to local disk ahead of need: in reading order, verified, within a budget of bytes.

One thread follows the run's reading order, which is known from the start, and stays as far ahead
as the budget allows. To make room it evicts the shard whose next use lies furthest ahead. Shards
on a mounted file system are verified and read in place, unless they are compressed or the settings
name a cache.
"""

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

from audioloom_trainer.errors import CacheTooSmall
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.disk_space import fill
from audioloom_trainer.input.integrity import verified_copy, verify_in_place
from audioloom_trainer.input.record_reader import LocalShard, open_local
from audioloom_trainer.shards.shard_set import FileRef, Shard, ShardSet

Key = tuple[str, int]

# Number of future needs searched for the next use of a copy before its eviction.
_LOOK_AHEAD = 100_000
# Being further ahead would shorten no wait, but cost processor time.
_MOST_PROMISED = 4096
# The previous reader runs in its own thread and may be about to release its last shards.
STALL_SECONDS = 10.0


class _Ended(Exception):
    """Staging has ended."""


class Staging:
    """The shards of one worker, on local disk while they are needed.

    Args:
        shard_set: the shards.
        needs: every shard that will be held, in that order; may be endless.
        cache: folder for copies; None reads shards in place.
        early: files that are needed late. A thread verifies them once, so that damage ends the run
            at the next `hold` and not after hours of training.
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
        self._needs: Iterator[Shard] = iter(needs)
        self._ahead: deque[Shard] = deque()
        self._cache = cache
        self._change = threading.Condition()
        self._paths: dict[Key, tuple[Path, Path]] = {}
        self._sizes: dict[Key, int] = {}  # bytes in the cache; files in place do not count
        self._promised: Counter[Key] = Counter()  # fetched for a need that has not come yet
        self._held: dict[Key, LocalShard] = {}
        self._holders: Counter[Key] = Counter()
        self._stalled_for: Shard | None = None
        self.waited = 0.0
        """Seconds in which shards were asked for that were not there yet."""
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._idle = False
        self._turns = 0
        self._turn_of_fetch = 0
        self.early: Future[None] = Future()
        """The verification of the files that are needed late."""
        verify_early = partial(self._verify_early, early)
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for name, target in (("staging", self._run), ("early check", verify_early))
        ]

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
        for thread in self._threads:
            thread.join(timeout=5.0)

    def hold(self, shards: Sequence[Shard]) -> dict[int, LocalShard]:
        """Wait for the next shards of `needs` and keep them until their release.

        Raises:
            CacheTooSmall: the budget has no room for all held shards.
            ShardMismatch, UnknownLabel, StorageError: one of the shards or of the files in `early`
                cannot be used.
        """
        return {shard.number: self._hold(shard) for shard in shards}

    def release(self, shards: Iterable[Shard]) -> None:
        """Release held shards, so that they may be evicted."""
        with self._change:
            for shard in shards:
                key = (shard.split, shard.number)
                self._holders[key] -= 1
                if not self._holders[key]:
                    del self._holders[key]
                    held = self._held.pop(key, None)
                    if held is not None:  # None if staging was closed before the reader
                        held.close()
            self._stalled_for = None  # there may be room now
            self._change.notify_all()

    def replan(self, needs: Iterable[Shard]) -> None:
        """Replace the remaining needs, because the training has ended early, with none held."""
        with self._change:
            self._needs = iter(needs)
            self._ahead.clear()
            self._promised.clear()
            self._idle = False
            self._turns += 1
            self._change.notify_all()

    @property
    def in_use(self) -> int:
        """The number of shards that are held or were fetched for a later hold."""
        return len(self._holders) + self._promised.total()

    def _hold(self, shard: Shard) -> LocalShard:
        key = (shard.split, shard.number)
        give_up: float | None = None
        with self._change:
            if self.early.done():
                self.early.result()
            asked = time.monotonic()
            while not self._promised[key]:
                if self._failure is not None:
                    raise self._failure
                if self._stalled_for is None:
                    give_up = None
                elif give_up is None:
                    give_up = time.monotonic() + STALL_SECONDS
                elif time.monotonic() >= give_up:
                    raise self._too_small(self._stalled_for)
                if self._idle:
                    raise RuntimeError(f"{key} was asked for, and no need named it")
                self._change.wait(1.0)
            self.waited += time.monotonic() - asked
            self._promised[key] -= 1
            if not self._promised[key]:
                del self._promised[key]
            self._change.notify_all()
            self._holders[key] += 1
            if key not in self._held:
                data, index = self._paths[key]
                parsed = self.shard_set.parse_index(shard, index.read_bytes())
                self._held[key] = open_local(data, parsed, numbers=self.shard_set.classes is None)
            return self._held[key]

    def _verify_early(self, files: Sequence[FileRef]) -> None:
        try:
            for file in files:
                if self._ended.is_set():
                    break
                verify_in_place(file)
        except Exception as error:  # noqa: BLE001  (`hold` raises it)
            self.early.set_exception(error)
        else:
            self.early.set_result(None)

    def _run(self) -> None:
        try:
            while True:
                self._fetch(self._next())
        except _Ended:
            return
        except BaseException as error:  # noqa: BLE001  (the waiting thread raises it)
            with self._change:
                self._failure = error
                self._change.notify_all()

    def _next(self) -> Shard:
        with self._change:
            while not self._ended.is_set():
                self._turn_of_fetch = self._turns
                if self._promised.total() >= _MOST_PROMISED:
                    self._wait()
                    continue
                shard = self._ahead.popleft() if self._ahead else next(self._needs, None)
                if shard is not None:
                    return shard
                self._idle = True
                self._change.notify_all()
                self._wait()
            raise _Ended

    def _fetch(self, shard: Shard) -> None:
        key = (shard.split, shard.number)
        paths = self._paths.get(key) or self._bring(shard)
        with self._change:
            self._paths[key] = paths
            if self._turn_of_fetch == self._turns:
                self._promised[key] += 1
            self._change.notify_all()

    def _bring(self, shard: Shard) -> tuple[Path, Path]:
        if self._cache is None:  # every shard can be read in place
            for file in (shard.data, shard.index):
                verify_in_place(file)
            return _path(shard.data), _path(shard.index)
        paths = self._cache.paths(shard)
        self._cache.claim(*paths)
        self._make_room(shard, self._cache)
        for file, path in zip((shard.data, shard.index), paths, strict=True):
            copy, needed = partial(verified_copy, file, path), file.content.bytes
            fill(copy, path, needed, evict=self._evict, wait=self._wait)
        return paths

    def _make_room(self, shard: Shard, cache: Cache) -> None:
        """Evict copies and wait for releases until *shard* fits."""
        with self._change:
            while cache.left + sum(self._sizes.values()) + shard.bytes > cache.limit:
                if not self._evict():
                    self._stalled_for = shard
                    self._change.notify_all()
                    self._wait()
                    self._stalled_for = None
            self._sizes[(shard.split, shard.number)] = shard.bytes

    def _evict(self) -> bool:
        """Remove the copy with the furthest next use; False if every copy is needed."""
        with self._change:
            if self._cache is not None and self._cache.give_way():
                return True
            victim = self._furthest()
            if victim is None:
                return False
            for path in self._paths.pop(victim):
                path.unlink(missing_ok=True)
            del self._sizes[victim]
            return True

    def _wait(self, seconds: float | None = None) -> None:
        """Wait for a change, at most *seconds*; raise _Ended if staging has ended."""
        with self._change:
            if not self._ended.is_set():
                self._change.wait(seconds)
            if self._ended.is_set():
                raise _Ended

    def _furthest(self) -> Key | None:
        """Return the copy, neither held nor promised, whose next use lies furthest ahead."""
        free = {
            key
            for key in self._sizes
            if key in self._paths and not self._promised[key] and key not in self._holders
        }
        self._ahead.extend(islice(self._needs, _LOOK_AHEAD - len(self._ahead)))
        for shard in self._ahead:
            if len(free) <= 1:
                break
            free.discard((shard.split, shard.number))
        return min(free, default=None)

    def _too_small(self, shard: Shard) -> CacheTooSmall:
        limit = self._cache.limit if self._cache else 0
        return CacheTooSmall(
            where="--cache-bytes",
            expected=f"room for the shards that are read together and {shard.bytes} bytes more",
            found=f"{limit} bytes, of which {sum(self._sizes.values())} are in use",
            hint="Raise --cache-bytes, lower --shuffle-window, or train with more replicas.",
        )


def _path(file: FileRef) -> Path:
    return Path(os.fsdecode(file.location.path))
