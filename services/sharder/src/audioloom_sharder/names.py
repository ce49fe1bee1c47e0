"""The names of the files that the sharder writes, and the reverse."""

from __future__ import annotations

import re

__all__ = ["index_path", "is_ours", "shard_path"]

FOLDER = "shards"
DIGITS = 12

_OURS = re.compile(
    r"(?P<split>[a-z][a-z0-9_]{0,31})-(?P<shard>[0-9]{5,})-[0-9a-f]{12}"
    r"\.(tfrecord|idx\.npy|parquet|avro|orc)"
)


def shard_path(split: str, shard: int, sha256: str, suffix: str = "tfrecord") -> str:
    """Path of a shard within its run: the content's digest is in the name."""
    return f"{FOLDER}/{split}-{shard:05d}-{sha256[:DIGITS]}.{suffix}"


def index_path(shard: str) -> str:
    """Path of the index beside a shard."""
    return f"{shard.removesuffix('.tfrecord')}.idx.npy"


def is_ours(name: str) -> bool:
    """Whether a file name is one that `shard_path` or `index_path` gives."""
    return _OURS.fullmatch(name) is not None
