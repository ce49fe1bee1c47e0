"""The names of the files that the sharder writes, and the reverse."""

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
    """Path of a shard within its run: the content's digest is in the name."""
    return f"{FOLDER}/{split}-{shard:05d}-{sha256[:DIGITS]}.{suffix}"


def index_path(shard: str) -> str:
    """Path of the index beside a shard."""
    return f"{shard.removesuffix('.tfrecord')}.idx.npy"


def groups_path(sha256: str) -> str:
    """Path of the splits file."""
    return f"{SPLITS_FOLDER}/groups-{sha256[:DIGITS]}.npy"


def is_product(folder: str, name: str) -> bool:
    """Whether a file of this name in a folder of a run is a product of the sharder."""
    pattern = {FOLDER: _OURS, SPLITS_FOLDER: _GROUPS}.get(folder)
    return pattern is not None and pattern.fullmatch(name) is not None
