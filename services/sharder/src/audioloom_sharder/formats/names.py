"""Make and recognise the names of the files that the sharder writes."""

import re

FOLDER = "shards"
SPLITS_FOLDER = "splits"
DIGITS = 12

_OURS = re.compile(
    r"(?P<split>[a-z][a-z0-9_]{0,31})-(?P<shard>[0-9]{5,})-[0-9a-f]{12}"
    r"\.(tfrecord|idx\.npy|parquet|avro|orc)"
)

_GROUPS = re.compile(r"groups-[0-9a-f]{12}\.npy")


def shard_path(split: str, shard: int, sha256: str, suffix: str = "tfrecord") -> str:
    """Return the path of a shard within its run; the name holds the digest of the content."""
    return f"{FOLDER}/{split}-{shard:05d}-{sha256[:DIGITS]}.{suffix}"


def index_path(shard: str) -> str:
    """Return the path of a shard's index."""
    return f"{shard.removesuffix('.tfrecord')}.idx.npy"


def groups_path(sha256: str) -> str:
    """Return the path of the splits file."""
    return f"{SPLITS_FOLDER}/groups-{sha256[:DIGITS]}.npy"


def is_product(folder: str, name: str) -> bool:
    """Return whether a file of this name in a folder of a run is a product of the sharder."""
    pattern = {FOLDER: _OURS, SPLITS_FOLDER: _GROUPS}.get(folder)
    return pattern is not None and pattern.fullmatch(name) is not None
