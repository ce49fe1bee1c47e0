import dataclasses
import os
import tempfile
from pathlib import Path

import pytest
import structlog
from audioloom_storage import Location
from audioloom_trainer.input.cache import open_cache
from audioloom_trainer.shards.shard_set import Shard, ShardSet, open_shards
from shard_maker import make_shards


@pytest.fixture
def here(tmp_path: Path) -> ShardSet:
    """Shards on a file system."""
    return open_shards(make_shards(tmp_path / "root", records={"train": 12}, lanes=6))


@pytest.fixture
def elsewhere(here: ShardSet) -> ShardSet:
    """The same as if one of them lay in HDFS; nothing is read of it here."""

    def moved(shard: Shard) -> Shard:
        at = Location("hdfs", "namenode:8020", shard.data.location.path)
        return dataclasses.replace(shard, data=dataclasses.replace(shard.data, location=at))

    train = here.split("train")
    shards = (*train.shards[:-1], moved(train.shards[-1]))
    return dataclasses.replace(here, splits={"train": dataclasses.replace(train, shards=shards)})


def test_what_can_be_read_in_place_needs_no_cache(
    here: ShardSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even in a container."""
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path))
    with open_cache(here, None, 1) as cache:
        assert None is cache


def test_the_folder_that_was_asked_for_stays(
    here: ShardSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For shards in place too, and before YARN's."""
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path))
    asked = tmp_path / "asked"
    with open_cache(here, str(asked), 1) as cache:
        assert cache is not None
        assert asked / "worker-0" == cache.folder
    assert asked.is_dir()


def test_in_a_container_it_is_below_a_folder_of_the_application(
    elsewhere: ShardSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is there and can be written; it stays for a worker that is started again."""
    local = tmp_path / "usercache" / "app"
    local.mkdir(parents=True)
    monkeypatch.setenv("LOCAL_DIRS", f"{tmp_path / 'gone'},{local}")
    with open_cache(elsewhere, None, 1) as cache:
        assert cache is not None
        assert local / "audioloom-shards" / "worker-0" == cache.folder
    assert cache.folder.is_dir()


def test_elsewhere_it_is_temporary(elsewhere: ShardSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind."""
    monkeypatch.delenv("LOCAL_DIRS", raising=False)
    with open_cache(elsewhere, None, 1) as cache:
        assert cache is not None
        assert cache.folder.is_dir()
    assert not cache.folder.parent.exists()


def test_the_copies_of_a_killed_training_are_removed_by_the_next(
    elsewhere: ShardSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would stay for ever otherwise, and they are large."""
    monkeypatch.delenv("LOCAL_DIRS", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_cache(elsewhere, None, 1) as cache:
        assert cache is not None
        left = tmp_path / f"{cache.folder.parent.name}-left"
    (left / "worker-0").mkdir(parents=True)
    os.utime(left, (1e9, 1e9))
    with open_cache(elsewhere, None, 1):
        assert not left.exists()


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o777])
def test_a_folder_where_others_may_replace_copies_is_told(
    here: ShardSet, tmp_path: Path, mode: int
) -> None:
    """Whoever asked for it can ask for another one."""
    asked = tmp_path / "asked"
    asked.mkdir()
    asked.chmod(mode)
    with structlog.testing.capture_logs() as said, open_cache(here, str(asked), 1):
        pass
    warned = [each["folder"] for each in said if each["log_level"] == "warning"]
    assert ([str(asked)] if mode == 0o777 else []) == warned
