"""A disk that is full: what gives way, what is waited for, and what is said in the end."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import structlog
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import Location
from audioloom_trainer.errors import DiskFull
from audioloom_trainer.input import integrity
from audioloom_trainer.input import staging as staging_module
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.integrity import fill, verified_copy
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import FileRef, Shard, ShardSet, open_shards
from shard_maker import make_shards
from trainer_program import RetryFor

TRY_AGAIN = 75


@pytest.fixture
def shard_set(tmp_path: Path) -> ShardSet:
    """Twelve shards of four or five records."""
    return open_shards(make_shards(tmp_path / "root", records={"train": 51}, lanes=6))


@pytest.fixture
def train(shard_set: ShardSet) -> tuple[Shard, ...]:
    return shard_set.split("train").shards


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "cache", 1 << 30)
    yield cache
    cache.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for five of the twelve shards with their indexes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "audioloom", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield folder
    unmount = ["umount", str(folder)]
    subprocess.run(unmount, check=True)


def meet_full_device(
    monkeypatch: pytest.MonkeyPatch, cache: Cache, shard: Shard, *, times: int = 1
) -> None:
    """Let the next copies of a shard meet a device that is full, as the kernel says it."""
    path, _ = cache.paths(shard.sha256)
    full = [path.with_name(path.name + ".part")] * times
    really = os.open

    def opened(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if path in full:
            full.remove(path)
            return really("/dev/full", os.O_WRONLY)
        return really(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", opened)


def names(cache: Cache) -> set[str]:
    return {path.name for path in cache.folder.iterdir()} - {"lock"}


class Ended(Exception):
    """Nobody waits any more."""


class Disk:
    """Full until so many copies were removed, and so long was waited."""

    def __init__(self, *, evictions: int = 0, waits: int = 0, copies: int = 0) -> None:
        self.evictions, self.waits, self.copies = evictions, waits, copies
        self.number = errno.ENOSPC
        self.tried = 0

    def fill(self, path: Path, needed: int) -> None:
        fill(self._copy, path, needed, evict=self._evict, wait=self._wait)

    def _copy(self) -> None:
        self.tried += 1
        if self.evictions or self.waits:
            raise OSError(self.number, "full")

    def _evict(self) -> bool:
        if not self.copies:
            return False
        self.copies -= 1
        self.evictions -= bool(self.evictions)
        return True

    def _wait(self, _: float) -> None:
        self.waits -= 1
        if self.waits < 0:
            raise Ended


def test_a_disk_that_stays_full_ends_the_run_with_what_would_help(
    shard_set: ShardSet, train: tuple[Shard, ...], cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be started again; nothing of the copy stays, nor what is needed after it."""
    meet_full_device(monkeypatch, cache, train[1], times=1000)
    with Staging(shard_set, train, cache=cache) as staging:
        staging.hold(train[:1])
        with pytest.raises(DiskFull, match="--cache") as caught:
            staging.hold(train[1:2])
    assert TRY_AGAIN == exit_code(caught.value)
    assert str(cache.folder) in str(caught.value)
    assert f"{train[1].data.content.bytes} bytes" in str(caught.value)
    assert not [name for name in names(cache) if name.endswith(".part")]


def test_another_failure_of_the_disk_is_not_waited_for(tmp_path: Path, retry_for: RetryFor) -> None:
    """It would not pass."""
    retry_for(60.0)
    disk = Disk(waits=1)
    disk.number = errno.EIO
    with pytest.raises(OSError, match="full"):
        disk.fill(tmp_path / "x", 1)
    assert 1 == disk.tried


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_copies_give_way_before_anything_is_waited_for(tmp_path: Path, number: int) -> None:
    """One at a time, and no more than it takes."""
    disk = Disk(evictions=2, copies=3)
    disk.number = number
    disk.fill(tmp_path / "x", 1)
    assert (3, 1) == (disk.tried, disk.copies)


def test_what_others_fill_is_waited_for_and_told(tmp_path: Path, retry_for: RetryFor) -> None:
    """In the log: where, how much there is, how much is needed."""
    retry_for(60.0)
    disk = Disk(waits=2)
    with structlog.testing.capture_logs() as told:
        disk.fill(tmp_path / "x", 7)
    assert 3 == disk.tried
    assert [("warning", str(tmp_path), 7)] * 2 == [
        (each["log_level"], each["folder"], each["needed"]) for each in told
    ]
    assert all(each["free"] > 0 for each in told)


def test_the_end_does_not_wait_for_room(tmp_path: Path, retry_for: RetryFor) -> None:
    """Neither is it a failure."""
    retry_for(60.0)
    disk = Disk(evictions=1, waits=1)
    with pytest.raises(Ended):
        disk.fill(tmp_path / "x", 1)
    assert 2 == disk.tried


def test_room_is_made_before_a_copy_is_begun(tmp_path: Path) -> None:
    """Where the disk says itself that it has none, but not for a copy that is there."""
    disk = Disk(copies=3)
    disk.fill(tmp_path / "x", 1 << 62)
    assert (1, 0) == (disk.tried, disk.copies)
    (there := tmp_path / "there").touch()
    disk = Disk(copies=3)
    disk.fill(there, 1 << 62)
    assert 3 == disk.copies


def test_a_shard_is_there_once_there_is_room(
    shard_set: ShardSet, train: tuple[Shard, ...], cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier run left goes first, and what this one was promised stays."""
    earlier = replace(train[2], data=replace(train[2].data, sha256="0" * 64))
    left, _ = cache.paths(earlier.sha256)
    left.write_bytes(b"of an earlier run")
    cache.keep_only([earlier])
    meet_full_device(monkeypatch, cache, train[1])
    with Staging(shard_set, train, cache=cache) as staging:
        held = staging.hold(train[:2])
        assert train[1].data.content.bytes == held[1].path.stat().st_size
    assert not left.exists()
    assert cache.paths(train[0].sha256)[0].exists()


def test_an_earlier_shard_gets_the_room_of_a_later_one(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
) -> None:
    """On a disk for one shard, the second comes first: it gives way, and is copied again."""
    retry_for(60.0, first_pause=0.001)
    copy, allocate, here = staging_module.verified_copy, os.posix_fallocate, threading.Event()
    first, second = (cache.paths(shard.sha256) for shard in train[:2])
    copied = []

    def second_first(file: FileRef, target: Path, *, given_up: threading.Event) -> None:
        if target in first:
            assert here.wait(60.0)
        copy(file, target, given_up=given_up)
        copied.append(target)
        if target == second[1]:
            here.set()

    def allocated(descriptor: int, offset: int, size: int) -> None:
        used = sum(path.stat().st_size for path in cache.folder.iterdir())
        if used + size > max(shard.bytes for shard in train):
            raise OSError(errno.ENOSPC, "full")
        allocate(descriptor, offset, size)

    monkeypatch.setattr(staging_module, "verified_copy", second_first)
    monkeypatch.setattr(os, "posix_fallocate", allocated)
    with Staging(shard_set, train[:2], cache=cache) as staging:
        for shard in train[:2]:
            staging.hold([shard])
            staging.release([shard])
    assert [*second, *first, *second] == copied


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_room_is_taken_before_anything_is_read(
    train: tuple[Shard, ...], cache: Cache, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """So a full disk costs no request to storage."""

    def full(*_: int) -> None:
        raise OSError(number, "full")

    def asked(where: Location) -> BinaryIO:
        raise AssertionError(f"{where} was opened")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(integrity, "open_read", asked)
    with pytest.raises(OSError, match="full") as caught:
        verified_copy(train[0].data, cache.paths(train[0].sha256)[0], given_up=threading.Event())
    assert number == caught.value.errno
    assert set() == names(cache)


def test_half_a_write_is_no_copy(train: tuple[Shard, ...], cache: Cache) -> None:
    """The kernel takes what there is room for, and refuses only the next write."""
    target, _ = cache.paths(train[0].sha256)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (train[0].data.bytes // 2, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            verified_copy(train[0].data, target, given_up=threading.Event())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set() == names(cache)


def test_a_file_system_without_allocation_gets_copies_too(
    shard_set: ShardSet, train: tuple[Shard, ...], cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block by block."""

    def unknown(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", unknown)
    with Staging(shard_set, train[:1], cache=cache) as staging:
        path = staging.hold(train[:1])[0].path
        assert Path(train[0].data.location.path).read_bytes() == path.read_bytes()


def test_a_disk_smaller_than_the_budget_is_enough(
    shard_set: ShardSet, train: tuple[Shard, ...], small_disk: Path, retry_for: RetryFor
) -> None:
    """On a real file system, through two epochs: what is read no more gives way."""
    retry_for(5.0)
    cache = Cache(small_disk, 1 << 30)
    try:
        with Staging(shard_set, train * 2, cache=cache) as staging:
            for shard in train * 2:
                staging.hold([shard])
                staging.release([shard])
        assert not [name for name in names(cache) if name.endswith(".part")]
    finally:
        cache.close()


def test_a_real_disk_that_stays_full_is_told(
    shard_set: ShardSet, train: tuple[Shard, ...], small_disk: Path, retry_for: RetryFor
) -> None:
    """What is held at once does not fit on it."""
    retry_for(0.6)
    cache = Cache(small_disk, 1 << 30)
    try:
        with (
            Staging(shard_set, train, cache=cache) as staging,
            pytest.raises(DiskFull, match=str(small_disk)),
        ):
            staging.hold(train)
        assert not [name for name in names(cache) if name.endswith(".part")]
    finally:
        cache.close()
