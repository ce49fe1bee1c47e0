"""Staging by several threads, by seed: orders, budgets, disks, failures and new plans at random.

Every run ends, keeps its budget and its disk, holds what is asked for, in order, and copies no
shard twice at a time.
"""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from audioloom_storage import Location, Unavailable
from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.input import integrity
from audioloom_trainer.input import staging as staging_module
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import FileRef, Shard, ShardSet, open_shards
from shard_maker import make_shards
from trainer_program import RetryFor

Windows = list[list[Shard]]
"""The shards that are held together, in order."""

DEADLOCK_SECONDS = 300.0
STEPS = 40


@pytest.fixture(scope="module")
def shard_set(tmp_path_factory: pytest.TempPathFactory) -> ShardSet:
    """Eighteen shards of one to five records."""
    folder = tmp_path_factory.mktemp("root")
    return open_shards(make_shards(folder, records={"train": 51, "val": 7}, lanes=6))


class World:
    """What surrounds a staging, with its faults; and what must not happen in it."""

    def __init__(self, seed: int, shard_set: ShardSet) -> None:
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.shards = [each for split in shard_set.splits.values() for each in split.shards]
        self.windows = self.plan()
        self.second = self.plan()
        largest = max(
            sum(each.bytes for each in {each.sha256: each for each in window}.values())
            for window in (*self.windows, *self.second)
        )
        total = sum(each.bytes for each in self.shards)
        self.limit = self.random.randint(largest, total)
        self.disk = self.random.choice([2 * total, self.random.randint(largest, self.limit)])
        self.unreliable = self.random.choice([0.0, 0.2])
        self.lock = threading.Lock()
        self.copied: set[Path] = set()

    def plan(self) -> Windows:
        """A random order, as readers with windows of a random size hold it."""
        size = self.random.randint(1, 3)
        return [self.random.choices(self.shards, k=size) for _ in range(STEPS)]

    def used(self, cache: Cache) -> int:
        total = 0
        for path in cache.folder.iterdir():
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    @contextmanager
    def around(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Let faults happen, and check what may not."""
        copy, really_open = staging_module.verified_copy, integrity.open_read
        really_allocate = os.posix_fallocate

        def copied(file: FileRef, target: Path, **options: Any) -> None:
            with self.lock:
                assert target not in self.copied
                self.copied.add(target)
                assert self.used(cache) <= cache.limit
            try:
                copy(file, target, **options)
            finally:
                with self.lock:
                    self.copied.remove(target)

        def opened(where: Location) -> BinaryIO:
            time.sleep(self.random.random() / 1000)
            if self.random.random() < self.unreliable:
                raise Unavailable("gone", where=where)
            return really_open(where)

        def allocated(descriptor: int, offset: int, size: int) -> None:
            with self.lock:
                if self.used(cache) + size > self.disk:
                    raise OSError(errno.ENOSPC, "full")
                really_allocate(descriptor, offset, size)

        with monkeypatch.context() as patch:
            patch.setattr(staging_module, "verified_copy", copied)
            patch.setattr(integrity, "open_read", opened)
            patch.setattr(os, "posix_fallocate", allocated)
            patch.setattr(
                staging_module, "available_cores", lambda: self.random.choice([1, 2, 3, 4])
            )
            yield

    def read(self, staging: Staging, windows: Windows) -> None:
        for window in windows:
            held = staging.hold(window)
            for shard in window:
                path = held[shard.number].path
                if sum(each.number == shard.number for each in window) == 1:
                    assert Path(shard.data.location.path).read_bytes() == path.read_bytes()
            if self.random.random() < 0.3:
                time.sleep(self.random.random() / 1000)
            staging.release(window)

    def run(self, shard_set: ShardSet, cache: Cache) -> None:
        needs = [shard for window in self.windows for shard in window]
        with Staging(shard_set, needs, cache=cache) as staging:
            stop = self.random.choice([STEPS, self.random.randrange(STEPS)])
            self.read(staging, self.windows[:stop])
            if stop < STEPS:
                staging.replan(shard for window in self.second for shard in window)
                self.read(staging, self.second)
            assert self.used(cache) <= cache.limit


def ends(work: Callable[[], None]) -> None:
    """Do it in a thread of its own, to fail rather than to wait for something that never comes."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the test raises it
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    done.result(DEADLOCK_SECONDS)


@pytest.mark.parametrize("seed", range(24))
def test_every_reader_gets_its_shards(
    shard_set: ShardSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
    seed: int,
) -> None:
    """With a budget and a disk that have just room enough, on storage that fails now and then."""
    retry_for(DEADLOCK_SECONDS, first_pause=0.001)
    world = World(seed, shard_set)
    for _ in range(2):  # the second run finds the copies of the first
        cache = Cache(tmp_path, world.limit)
        cache.keep_only(world.random.sample(world.shards, k=9))
        try:
            with world.around(cache, monkeypatch):
                ends(partial(world.run, shard_set, cache))
        finally:
            cache.close()
        assert not list(cache.folder.glob("*.part"))


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_shard_ends_the_reader_where_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Not before: what is needed earlier is held first, although others may be further."""
    shard_set = open_shards(make_shards(tmp_path / "root", records={"train": 51}, lanes=6))
    world = World(seed, shard_set)
    world.unreliable, world.disk = 0.0, 1 << 30
    victim = world.random.choice(world.shards)
    Path(victim.data.location.path).write_bytes(bytes(victim.data.bytes))
    cache = Cache(tmp_path / "cache", world.limit)
    first = next((n for n, each in enumerate(world.windows) if victim in each), STEPS)

    def run() -> None:
        needs = [shard for window in world.windows for shard in window]
        with Staging(shard_set, needs, cache=cache) as staging:
            world.read(staging, world.windows[:first])
            if first < STEPS:
                with pytest.raises(ShardMismatch, match=victim.data.location.name):
                    staging.hold(world.windows[first])

    try:
        with world.around(cache, monkeypatch):
            ends(run)
    finally:
        cache.close()
