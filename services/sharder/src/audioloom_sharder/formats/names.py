"""Make and recognise the names of the files that the sharder writes."""

import re

FOLDER_SHARDS = 10_000
"""Shards of a split in one folder."""

_PRODUCT = re.compile(
    r"shards/([a-z][a-z0-9_]{0,31}-[0-9]+/)?[a-z][a-z0-9_]{0,31}-[0-9]{5,}-[0-9a-f]{12}\.(tfrecord|idx\.npy|parquet|avro|orc)"
    r"|splits/groups-[0-9a-f]{12}\.npy"
)


def shard_path(split: str, shard: int, sha256: str, suffix: str) -> str:
    """Return the path of a shard within its run; the name holds the digest of the content.

    A folder that holds too many files is slow to list, and HDFS allows a million.
    """
    folder = f"{split}-{shard // FOLDER_SHARDS}/" if shard >= FOLDER_SHARDS else ""
    return f"shards/{folder}{split}-{shard:05d}-{sha256[:12]}.{suffix}"


def index_path(shard: str) -> str:
    """Return the path of a shard's index."""
    return f"{shard.removesuffix('.tfrecord')}.idx.npy"


def groups_path(sha256: str) -> str:
    """Return the path of the splits file."""
    return f"splits/groups-{sha256[:12]}.npy"


def is_product(path: str) -> bool:
    """Return whether the file of this path in a run is a product of the sharder."""
    return _PRODUCT.fullmatch(path) is not None
