"""Rot in any split, in a shard or an index, is found before a record of it is used; and named."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_manifest import late_files
from audioloom_manifest.errors import ManifestError, MissingFile
from audioloom_stage.errors import BadData
from audioloom_storage import StorageError
from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.input.integrity import check_files_exist
from audioloom_trainer.input.staging import Staging
from audioloom_trainer.shards.shard_set import FileRef, ShardSet, open_shards
from shard_maker import make_shards

SPLITS = ("train", "val", "test")


@pytest.fixture(params=["crc32c", "sha256"])
def shard_set(request: pytest.FixtureRequest, tmp_path: Path) -> ShardSet:
    """Three splits of four shards of four or five records, in a list of version 1.1 or 1.0."""
    crc32c = request.param == "crc32c"
    records = dict.fromkeys(SPLITS, 18)
    return open_shards(make_shards(tmp_path, records=records, lanes=2, crc32c=crc32c))


def path_of(file: FileRef) -> Path:
    return Path(file.location.path)


def cut(one: FileRef, _: FileRef) -> None:
    os.truncate(path_of(one), one.bytes - 1)


def lose(one: FileRef, _: FileRef) -> None:
    path_of(one).unlink()


def flip(one: FileRef, _: FileRef) -> None:
    data = bytearray(path_of(one).read_bytes())
    data[len(data) // 2] ^= 1
    path_of(one).write_bytes(data)


def swap(one: FileRef, other: FileRef) -> None:
    kept = path_of(one).read_bytes()
    path_of(one).write_bytes(path_of(other).read_bytes())
    path_of(other).write_bytes(kept)


def refusal(shard_set: ShardSet) -> Exception | None:
    """What ends a run whose first epoch holds one shard after another; None if nothing does."""
    train = shard_set.split("train").shards
    early = [file for split in ("val", "test") for file in shard_set.split(split).files()]
    try:
        check_files_exist(shard_set, SPLITS)
        with Staging(shard_set, train, cache=None, early=early) as staging:
            for shard in train:
                staging.hold([shard])
                wait([staging.early], 60.0)
                staging.release([shard])
    except (ManifestError, BadData, StorageError) as error:
        return error
    return None


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("role", ["data", "index"])
@pytest.mark.parametrize("damage", [cut, lose, flip, swap])
def test_a_damaged_file_is_named_in_the_first_epoch(
    shard_set: ShardSet, damage: Callable[[FileRef, FileRef], None], role: str, split: str
) -> None:
    """Whatever the split it is in, and although the others are needed when training is over."""
    shards = shard_set.split(split).shards
    one, other = getattr(shards[0], role), getattr(shards[3], role)
    damage(one, other)
    error = refusal(shard_set)
    assert error is not None
    assert str(one.location) in str(error) or (damage is swap and str(other.location) in str(error))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("damage", "kind"), [(cut, ShardMismatch), (lose, MissingFile)])
def test_what_is_gone_or_cut_is_told_before_any_reading(
    shard_set: ShardSet,
    damage: Callable[[FileRef, FileRef], None],
    kind: type[Exception],
    split: str,
) -> None:
    """A listing tells, of all splits; with exit codes 65 and 66."""
    shard = shard_set.split(split).shards[-1]
    damage(shard.index, shard.index)
    with pytest.raises(kind, match=shard.index.location.name):
        check_files_exist(shard_set, SPLITS)


def listed(shard_set: ShardSet) -> None:
    check_files_exist(shard_set, SPLITS)


def staged(shard_set: ShardSet) -> None:
    val = shard_set.split("val").shards
    with Staging(shard_set, val, cache=None) as staging:
        staging.hold(val)
        staging.release(val)


@pytest.mark.parametrize("look", [listed, staged])
def test_shards_that_appear_late_are_waited_for(
    shard_set: ShardSet, monkeypatch: pytest.MonkeyPatch, look: Callable[[ShardSet], None]
) -> None:
    """A network file system may show the manifest before them, to the chief or to another."""
    late = path_of(shard_set.split("val").shards[0].data)
    hidden = late.rename(late.with_name("hidden"))
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        hidden.rename(late)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    monkeypatch.setattr(late_files, "time", clock)
    monkeypatch.setenv(late_files.VARIABLE, "30")
    look(shard_set)
    assert 1 == len(waits)


def test_all_shards_that_are_gone_are_named(shard_set: ShardSet) -> None:
    """Whoever copies them again wants to know which."""
    gone = [shard.data for shard in shard_set.split("val").shards]
    for file in gone:
        path_of(file).unlink()
    with pytest.raises(MissingFile) as caught:
        check_files_exist(shard_set, SPLITS)
    assert all(file.location.name in str(caught.value) for file in gone)


def test_links_are_looked_at_themselves(shard_set: ShardSet, tmp_path: Path) -> None:
    """A listing may say the size of a link; what counts is the file."""
    where = path_of(shard_set.split("val").shards[0].data)
    where.rename(tmp_path / "elsewhere")
    where.symlink_to(tmp_path / "elsewhere")
    check_files_exist(shard_set, SPLITS)
    assert refusal(shard_set) is None


def test_workers_share_the_early_look(shard_set: ShardSet) -> None:
    """Each file is read by one of them."""
    test = shard_set.split("test")
    parts = [set(test.files(part=part, parts=3)) for part in range(3)]
    assert set(test.files()) == set.union(*parts)
    assert 8 == sum(map(len, parts))
