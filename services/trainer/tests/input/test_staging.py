from __future__ import annotations

import gc
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from audioloom_manifest.errors import MissingFile
from audioloom_storage import Location, NotFound, Unavailable
from audioloom_trainer.errors import CacheTooSmall, ShardMismatch, UnknownLabel
from audioloom_trainer.input import cache as cache_module
from audioloom_trainer.input import integrity
from audioloom_trainer.input import staging as staging_module
from audioloom_trainer.input.cache import Cache
from audioloom_trainer.input.record_reader import LocalShard, Records
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import Shard, ShardSet, open_shards
from shard_maker import make_shards
from trainer_program import RetryFor


@pytest.fixture
def shard_set(tmp_path: Path) -> ShardSet:
    """Twelve shards of four or five records."""
    return open_shards(make_shards(tmp_path / "root", records={"train": 51}, lanes=6))


@pytest.fixture
def cache_of(tmp_path: Path) -> Iterator[Callable[[float], Cache]]:
    """Makes caches of so many bytes, which are given up at the end."""
    with ExitStack() as stack:

        def make(limit: float) -> Cache:
            cache = Cache(tmp_path / "cache", int(limit))
            stack.callback(cache.close)
            return cache

        yield make


@pytest.fixture
def train(shard_set: ShardSet) -> tuple[Shard, ...]:
    return shard_set.split("train").shards


def staged(shard_set: ShardSet, needs: Iterable[Shard], cache: Cache | None = None) -> Staging:
    return Staging(shard_set, needs, cache=cache)


def packed(tmp_path: Path, compression: str) -> ShardSet:
    """Twelve compressed shards."""
    root = tmp_path / "packed"
    return open_shards(make_shards(root, records={"train": 51}, lanes=6, compression=compression))


def rows_of(shard: Shard) -> np.ndarray:
    return np.stack([np.full(shard.records, shard.number), np.arange(shard.records)], axis=1)


def contents(
    held: dict[int, LocalShard], shard: Shard, shard_set: ShardSet
) -> tuple[np.ndarray, np.ndarray]:
    """Features and targets of a shard."""
    return Records(held, shape=shard_set.shape, dtype=shard_set.dtype).gather(rows_of(shard))


def biggest(shards: Iterable[Shard]) -> int:
    return max(shard.bytes for shard in shards)


def damage(shard: Shard) -> None:
    """Change one bit in the middle; the size stays."""
    path = Path(shard.data.location.path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shorten(shard: Shard) -> None:
    path = Path(shard.data.location.path)
    os.truncate(path, path.stat().st_size - 1)


def copies(cache: Cache) -> set[str]:
    return {path.name for path in cache.folder.iterdir()} - {"lock"}


def open_files() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def used(cache: Cache) -> int:
    total = 0
    for path in cache.folder.iterdir():
        with suppress(FileNotFoundError):  # the thread that copies has just given it its name
            total += path.stat().st_size
    return total


@pytest.mark.parametrize("change", [damage, shorten])
@pytest.mark.parametrize("cached", [False, True])
def test_a_shard_that_is_not_as_listed_is_refused_by_name(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    change: object,
    cached: bool,
) -> None:
    """By its location, whether it is copied or read in place; the one before it is held."""
    assert callable(change)
    change(train[1])
    cache = cache_of(1 << 20) if cached else None
    with staged(shard_set, train, cache) as staging:
        staging.hold(train[:1])
        with pytest.raises(ShardMismatch) as caught:
            staging.hold(train[1:2])
        assert str(train[1].data.location) in str(caught.value)
    if cache is not None:
        assert not [name for name in copies(cache) if name.startswith(train[1].sha256)]


@pytest.mark.parametrize("change", [damage, shorten])
@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_a_compressed_shard_that_is_not_as_listed_is_refused_by_name(
    tmp_path: Path,
    cache_of: Callable[[float], Cache],
    change: Callable[[Shard], None],
    compression: str,
) -> None:
    """By the file as it lies in storage; no part of a copy stays."""
    shard_set = packed(tmp_path, compression)
    shard = shard_set.split("train").shards[0]
    change(shard)
    cache = cache_of(1 << 20)
    with staged(shard_set, [shard], cache) as staging:
        with pytest.raises(ShardMismatch) as caught:
            staging.hold([shard])
        assert str(shard.data.location) in str(caught.value)
    assert not [name for name in copies(cache) if "tfrecord" in name]


@pytest.mark.parametrize("claim", [-1, 1])
def test_a_shard_unpacks_to_what_the_list_says(
    tmp_path: Path, cache_of: Callable[[float], Cache], claim: int
) -> None:
    """One byte more is refused before it is written, one byte less is told."""
    shard_set = packed(tmp_path, "gzip")
    shard = shard_set.split("train").shards[0]
    said = shard.data.content
    wrong = said.model_copy(update={"bytes": said.bytes + claim})
    lie = replace(shard, data=replace(shard.data, uncompressed=wrong))
    with (
        staged(shard_set, [lie], cache_of(1 << 20)) as staging,
        pytest.raises(ShardMismatch, match=f"{wrong.bytes} bytes"),
    ):
        staging.hold([lie])


def test_a_missing_shard_is_refused_by_name(shard_set: ShardSet, train: tuple[Shard, ...]) -> None:
    """As where all are looked for."""
    Path(train[0].index.location.path).unlink()
    with staged(shard_set, train) as staging, pytest.raises(MissingFile, match=r"idx\.npy"):
        staging.hold(train[:1])


@pytest.mark.parametrize("cached", [False, True])
def test_storage_that_goes_away_is_waited_for(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
    cached: bool,
) -> None:
    """A shard that was read in part is read anew; an index too, and what is looked at early."""
    real, failed = integrity.open_read, set()

    def failing(where: Location) -> BinaryIO:
        if where in failed:
            return real(where)
        failed.add(where)
        raise Unavailable("gone", where=where)

    monkeypatch.setattr(integrity, "open_read", failing)
    retry_for(60.0, first_pause=0.001)
    cache = cache_of(1 << 20) if cached else None
    with Staging(shard_set, train[:2], cache=cache, early=[train[2].data]) as staging:
        staging.hold(train[:2])
        assert staging.early.exception(60.0) is None
    assert 5 == len(failed)


def test_a_label_outside_the_vocabulary_is_refused(tmp_path: Path) -> None:
    """Before a record of that shard is read."""
    ids = {"train": np.array([0, 1, 2, 3] * 3)}
    made = make_shards(tmp_path, records={"train": 12}, lanes=2, label_ids=ids)
    shard_set = open_shards(made)
    shards = shard_set.split("train").shards
    with staged(shard_set, shards) as staging, pytest.raises(UnknownLabel, match="0 to 2"):
        staging.hold(shards)


@pytest.mark.parametrize("cached", [False, True])
def test_a_shard_that_shrinks_while_it_is_held_is_refused(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache], cached: bool
) -> None:
    """No batch is filled with what happened to be in memory."""
    cache = cache_of(1 << 20) if cached else None
    with staged(shard_set, train, cache) as staging:
        held = staging.hold(train[:1])
        os.truncate(held[0].path, held[0].path.stat().st_size - 200)
        with pytest.raises(ShardMismatch, match="shorter"):
            contents(held, train[0], shard_set)


@pytest.mark.parametrize("room", [0.5, 2.5])
def test_a_cache_that_cannot_hold_what_is_read_together_is_told(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    room: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even one shard, or not the three that are held at once; with what would help."""
    monkeypatch.setattr(staging_module, "STALL_SECONDS", 0.0)
    cache = cache_of(room * biggest(train))
    with (
        staged(shard_set, train, cache) as staging,
        pytest.raises(CacheTooSmall, match="--shuffle-window"),
    ):
        staging.hold(train[:3])


def test_the_budget_is_kept(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache]
) -> None:
    """Through three epochs of different orders, with room for three shards, two held at a time."""
    orders = [train, train[::-1], train[5:] + train[:5]]
    needs = [shard for order in orders for shard in order]
    cache = cache_of(3 * biggest(train))
    with staged(shard_set, needs, cache) as staging:
        for one, two in zip(needs[::2], needs[1::2], strict=True):
            held = staging.hold([one, two])
            assert used(cache) <= cache.limit
            for shard in (one, two):
                _, labels = contents(held, shard, shard_set)
                assert shard.records == len(labels)
            staging.release([one, two])  # and ask for more at once: no false alarm
    assert used(cache) <= cache.limit


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_compressed_shards_are_read_from_unpacked_copies(
    tmp_path: Path, cache_of: Callable[[float], Cache], compression: str
) -> None:
    """The records of shards that are not; the budget counts the copies as they lie there."""
    plain = open_shards(make_shards(tmp_path / "plain", records={"train": 51}, lanes=6))
    shard_set = packed(tmp_path, compression)
    train = shard_set.split("train").shards
    expected = plain.split("train").shards
    assert [shard.bytes for shard in expected] == [shard.bytes for shard in train]
    cache = cache_of(3 * biggest(train))
    with staged(plain, expected) as ours, staged(shard_set, train * 2, cache) as staging:
        for shard, other in zip(train, expected, strict=True):
            found = staging.hold([shard])
            known = ours.hold([other])
            assert known[shard.number].path.read_bytes() == found[shard.number].path.read_bytes()
            both = [contents(held, shard, shard_set) for held in (known, found)]
            assert np.array_equal(both[0][0], both[1][0])
            assert used(cache) <= cache.limit
            staging.release([shard])


def test_unpacked_copies_of_an_earlier_run_are_used(
    tmp_path: Path, cache_of: Callable[[float], Cache]
) -> None:
    """They are known by what they hold, and a damaged one is made anew."""
    shard_set = packed(tmp_path, "zlib")
    train = shard_set.split("train").shards
    leave(before := cache_of(1 << 20), shard_set, train)
    whole, damaged = (before.paths(shard.sha256)[0] for shard in train[:2])
    inode = whole.stat().st_ino
    damaged.write_bytes(b"not what it was")
    cache = cache_of(1 << 20)
    with staged(shard_set, train, cache) as staging:
        staging.hold(train[:2])
        assert inode == whole.stat().st_ino
        assert train[1].data.content.bytes == damaged.stat().st_size


def test_what_is_needed_last_is_evicted_first(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache]
) -> None:
    """The shard that is needed again soon stays, the one that is not goes."""
    one, two, three = train[:3]
    cache = cache_of(one.bytes + two.bytes + three.bytes - 1)
    with staged(shard_set, [one, two, three, one, two], cache) as staging:
        staging.release([*_shards(staging, one, two)])
        staging.hold([three])
        kept = {name.split(".")[0] for name in copies(cache)}
        assert one.sha256 in kept
        assert two.sha256 not in kept


def _shards(staging: Staging, *shards: Shard) -> tuple[Shard, ...]:
    staging.hold(shards)
    return shards


def leave(cache: Cache, shard_set: ShardSet, shards: tuple[Shard, ...]) -> None:
    """Be an earlier run, with room for all."""
    with staged(shard_set, shards, cache) as staging:
        staging.hold(shards)
    cache.close()


def test_whole_copies_of_an_earlier_run_are_used(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache]
) -> None:
    """Damaged ones are made anew, and those of other runs removed."""
    leave(before := cache_of(1 << 20), shard_set, train)
    whole, damaged, foreign = (
        before.folder / f"{digest}.tfrecord"
        for digest in (train[0].sha256, train[1].sha256, "0" * 64)
    )
    inode = whole.stat().st_ino
    damaged.write_bytes(b"not what it was")
    foreign.write_bytes(b"of another run")
    cache = cache_of(1 << 20)
    assert before.folder == cache.folder
    cache.keep_only(train)
    assert not foreign.exists()
    with staged(shard_set, train, cache) as staging:
        staging.hold(train[:2])
        assert inode == whole.stat().st_ino
        assert train[1].data.sha256 == hashlib.sha256(damaged.read_bytes()).hexdigest()


def test_what_an_earlier_run_left_counts(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache]
) -> None:
    """With less room than it had, its copies give way from the first shard on."""
    leave(cache_of(1 << 20), shard_set, train)
    cache = cache_of(3 * biggest(train))
    cache.keep_only(train)
    with staged(shard_set, train, cache) as staging:
        for shard in train:
            staging.hold([shard])
            assert used(cache) <= cache.limit
            staging.release([shard])


def test_two_workers_share_a_folder_but_no_copy(tmp_path: Path) -> None:
    """Each has a folder of its own, and gives it up at the end."""
    one, two = Cache(tmp_path, 1), Cache(tmp_path, 1)
    assert one.folder != two.folder
    one.close()
    again = Cache(tmp_path, 1)
    assert one.folder == again.folder
    two.close()
    again.close()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_left_to_them(tmp_path: Path, mode: int) -> None:
    """They could change a copy after it was verified."""
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0").chmod(mode)
    cache = Cache(tmp_path, 1)
    cache.close()
    assert tmp_path / f"worker-{int(mode & 0o022 != 0)}" == cache.folder
    if mode & 0o022:
        assert 0o700 == cache.folder.stat().st_mode & 0o7777
        assert [] == list((tmp_path / "worker-0").iterdir())


@pytest.mark.parametrize("what", ["a link to a folder", "a link to nothing", "a file"])
def test_what_is_planted_in_the_place_of_a_folder_is_left_alone(tmp_path: Path, what: str) -> None:
    """Copies of somebody else would be removed as what an earlier run left."""
    (theirs := tmp_path / "theirs").mkdir()
    (copy := theirs / f"{'f' * 64}.npy").write_bytes(b"their copy")
    (tmp_path / "cache").mkdir()
    if what == "a file":
        (tmp_path / "cache/worker-0").write_bytes(b"")
    else:
        leads = "theirs" if what == "a link to a folder" else "nowhere"
        (tmp_path / "cache/worker-0").symlink_to(tmp_path / leads)
    cache = Cache(tmp_path / "cache", 1)
    cache.keep_only([])
    cache.close()
    assert tmp_path / "cache/worker-1" == cache.folder
    assert [copy] == list(theirs.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_folder_of_another_user_is_left_to_them(tmp_path: Path) -> None:
    """Whatever they let others do with it."""
    (tmp_path / "worker-0").mkdir(mode=0o755)
    os.chown(tmp_path / "worker-0", 65534, -1)
    cache = Cache(tmp_path, 1)
    cache.close()
    assert tmp_path / "worker-1" == cache.folder


def test_a_disk_that_keeps_no_permissions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On it every run would make a folder beside those that it does not take for its own."""
    monkeypatch.setattr(cache_module, "is_own", lambda *_: False)
    with pytest.raises(OSError, match="others may write what was made there"):
        Cache(tmp_path, 1)
    assert [tmp_path / "worker-0"] == list(tmp_path.iterdir())


def test_nothing_is_written_through_a_link(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    tmp_path: Path,
) -> None:
    """Neither one under the name of a copy, nor one under that of an unfinished copy."""
    (victim := tmp_path / "victim.txt").write_bytes(b"precious")
    cache = cache_of(1 << 20)
    one, two = (cache.paths(shard.sha256)[0] for shard in train[:2])
    one.with_name(f"{one.name}.part").symlink_to(victim)
    two.symlink_to(victim)
    with staged(shard_set, train[:2], cache) as staging:
        staging.hold(train[:2])
        assert b"precious" == victim.read_bytes()
        assert [False, False] == [path.is_symlink() for path in (one, two)]


@pytest.mark.parametrize("what", ["theirs", "ours, which others may write"])
def test_a_copy_that_others_may_write_is_made_anew(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache], what: str
) -> None:
    """They could change it after it was verified; nobody else may write the new one."""
    if what == "theirs" and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    leave(before := cache_of(1 << 20), shard_set, train)
    planted, _ = before.paths(train[0].sha256)
    planted.chmod(0o644 if what == "theirs" else 0o666)
    if what == "theirs":
        os.chown(planted, 65534, -1)
    theirs = planted.stat().st_ino
    (held := planted.with_name("held")).hardlink_to(planted)
    with staged(shard_set, train, cache_of(1 << 20)) as staging:
        staging.hold(train[:1])
        found = planted.stat()
        assert (os.geteuid(), 0o600) == (found.st_uid, found.st_mode & 0o777)
        assert theirs == held.stat().st_ino != found.st_ino


def test_several_shards_come_at_once(
    shard_set: ShardSet, train: tuple[Shard, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is opened before the first is read."""
    real, both = integrity.open_read, threading.Barrier(2)
    first = [shard.data.location for shard in train[:2]]

    def together(where: Location) -> BinaryIO:
        if where in first:
            both.wait(60.0)
        return real(where)

    monkeypatch.setattr(integrity, "open_read", together)
    with staged(shard_set, train) as staging:
        assert [0, 1] == [*staging.hold(train[:2])]


def test_a_slow_shard_is_not_taken_for_a_small_cache(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although there is no room for the shard after it, which another thread waits for."""
    real = integrity.open_read

    def slow(where: Location) -> BinaryIO:
        if where == train[1].data.location:
            time.sleep(2.5)
        return real(where)

    monkeypatch.setattr(staging_module, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(integrity, "open_read", slow)
    with staged(shard_set, train, cache_of(2 * biggest(train))) as staging:
        assert [0, 1] == [*staging.hold(train[:2])]
        with pytest.raises(CacheTooSmall):
            staging.hold(train[2:3])


def test_a_failure_waits_for_the_shards_before_it(
    shard_set: ShardSet, train: tuple[Shard, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard on its way is held, although the next one has failed meanwhile."""
    real, failed = integrity.open_read, threading.Event()

    def opened(where: Location) -> BinaryIO:
        if where == train[1].data.location:
            failed.set()
            raise NotFound("gone", where=where)
        if where == train[0].data.location:
            assert failed.wait(60.0)
            time.sleep(0.1)
        return real(where)

    monkeypatch.setattr(integrity, "open_read", opened)
    with staged(shard_set, train) as staging:
        assert [0] == [*staging.hold(train[:1])]
        for _ in range(2):
            with pytest.raises(NotFound, match=train[1].data.location.name):
                staging.hold(train[1:2])


def test_shards_may_share_an_index(tmp_path: Path, cache_of: Callable[[float], Cache]) -> None:
    """Records of one size, and numbers to learn: to evict one shard takes no other's index."""
    made = make_shards(
        tmp_path / "numbers",
        records={"train": 24},
        shards={"train": 6},
        labels=("calm", "glad", "mild"),
        numbers=True,
    )
    shard_set = open_shards(made)
    train = shard_set.split("train").shards
    assert (6, 1) == (len(train), len({shard.index.sha256 for shard in train}))
    with staged(shard_set, train * 2, cache_of(3 * biggest(train))) as staging:
        for one, two in zip((train * 2)[::2], (train * 2)[1::2], strict=True):
            held = staging.hold([one, two])
            assert [one.records, two.records] == [len(each.targets) for each in held.values()]
            staging.release([one, two])


def test_equal_shards_share_a_copy(
    shard_set: ShardSet, train: tuple[Shard, ...], cache_of: Callable[[float], Cache]
) -> None:
    """It stays until the last of them is released."""
    one, twin = train[0], replace(train[1], data=train[0].data, index=train[0].index)
    cache = cache_of(2 * biggest(train))
    with staged(shard_set, [one, twin, train[2]], cache) as staging:
        held = staging.hold([one, twin])
        assert held[0].path == held[1].path
        staging.release([one])
        staging.hold(train[2:3])
        assert held[1].path.exists()


@pytest.mark.parametrize("cached", [False, True])
def test_the_end_waits_for_no_copy(
    shard_set: ShardSet,
    train: tuple[Shard, ...],
    cache_of: Callable[[float], Cache],
    monkeypatch: pytest.MonkeyPatch,
    cached: bool,
) -> None:
    """However slow storage is: all threads end, and so does a reader that waits for a shard."""
    begun, threads = threading.Event(), set(threading.enumerate())

    def endless(_: BinaryIO) -> Iterator[bytes]:
        while True:
            begun.set()
            yield b"0"
            time.sleep(0.001)

    monkeypatch.setattr(integrity, "pieces", endless)
    cache = cache_of(1 << 20) if cached else None
    with ThreadPoolExecutor(1) as pool:
        with Staging(shard_set, train, cache=cache, early=[train[2].data]) as staging:
            reader = pool.submit(staging.hold, train[:1])
            assert begun.wait(60.0)
        assert isinstance(reader.exception(60.0), CancelledError)
    assert set() == set(threading.enumerate()) - threads
    if cache is not None:
        assert not list(cache.folder.glob("*.part"))


def test_nothing_stays_open(shard_set: ShardSet, train: tuple[Shard, ...]) -> None:
    """Neither descriptors nor the thread, whether shards were released or not."""
    gc.collect()  # what other tests have left is not to end meanwhile, and be counted
    before, threads = open_files(), set(threading.enumerate())
    with staged(shard_set, [*train, *train]) as staging:
        staging.hold(train)
        staging.release(train[:3])
        assert open_files() > before
    assert set() == open_files() - before
    assert set() == set(threading.enumerate()) - threads
