"""The names of files that the sharder writes."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

import pytest
from audioloom_sharder.formats.names import FOLDER_SHARDS, index_path, is_product, shard_path

SHA256 = "0123456789ab" * 6


def test_no_folder_holds_all_shards_of_a_large_run() -> None:
    """A million shards of a split: HDFS refuses a folder of more than 1,048,576 entries."""
    shards = range(0, 10**6, 100)
    paths = [shard_path("train", shard, SHA256, "tfrecord") for shard in shards]
    assert all(is_product(path) and is_product(index_path(path)) for path in paths)
    assert len(paths) == len(set(paths))
    folders = Counter(PurePath(path).parent for path in paths)
    assert {FOLDER_SHARDS // 100} == {*folders.values()}


@pytest.mark.parametrize(
    ("shard", "path"),
    [
        (9_999, "shards/val-09999-0123456789ab.avro"),
        (10_000, "shards/val-1/val-10000-0123456789ab.avro"),
    ],
)
def test_a_small_run_has_one_folder(shard: int, path: str) -> None:
    """People name its shards by a glob."""
    assert path == shard_path("val", shard, SHA256, "avro")


@pytest.mark.parametrize(
    "path",
    ["shards/mine/val-10000-0123456789ab.avro", "shards/val-1/x/val-10000-0123456789ab.avro"],
)
def test_other_folders_are_not_ours(path: str) -> None:
    """What lies there may be another's."""
    assert not is_product(path)
