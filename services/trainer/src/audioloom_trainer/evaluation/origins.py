"""Read the origins of the few records that a report names, from the shards in storage.

The index says where a record lies, so only these records of an uncompressed shard are read. A
compressed shard is unpacked up to the last of these records.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import decompressed
from audioloom_manifest.records.example import value
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from audioloom_storage import open_read, read_bytes

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.input.sampler import EpochOrder
from audioloom_trainer.shards.index import Index
from audioloom_trainer.shards.shard_set import Shard, ShardSet, Split

_BLOCK = 1 << 20

Range = tuple[int, int]
"""First byte, and the one after the last."""


@dataclass(frozen=True)
class Origin:
    """The part of a recording that a record holds."""

    path: str
    window: int
    channel: int
    """-1 for the mix of all channels."""


def origins(shard_set: ShardSet, split: Split, positions: Iterable[float]) -> list[Origin]:
    """Return the origins of the records at *positions* of a split's natural order.

    Raises:
        ShardMismatch: a shard or an index has changed since it was verified.
        StorageError: a shard or an index cannot be read.
    """
    wanted = np.array(list(positions), np.int64)
    rows = EpochOrder(split.layout).locate(wanted)
    found: dict[tuple[int, int], Origin] = {}
    for number in np.unique(rows[:, 0]).tolist():
        inside = np.unique(rows[rows[:, 0] == number, 1]).tolist()
        shard = split.shards[number]
        index = shard_set.parse_index(
            shard, read_bytes(shard.index.location, limit=shard.index.bytes)
        )
        ranges = [_range(index, row) for row in inside]
        for row, record in zip(inside, _read(shard, ranges), strict=True):
            found[number, row] = _origin(shard, record)
    return [found[number, row] for number, row in rows.tolist()]


def _range(index: Index, row: int) -> Range:
    start = int(index.offset[row])
    return start, start + int(index.length[row])


def _read(shard: Shard, ranges: list[Range]) -> list[bytes]:
    """Read ranges of a shard, unpacked; they must ascend and not overlap."""
    if shard.data.uncompressed is not None:
        return _unpack(shard, ranges)
    pieces = []
    with open_read(shard.data.location) as source:
        for start, end in ranges:
            source.seek(start)
            pieces.append(source.read(end - start))
    return pieces


def _unpack(shard: Shard, ranges: list[Range]) -> list[bytes]:
    pieces = [bytearray() for _ in ranges]
    at = 0
    with open_read(shard.data.location) as source:
        blocks = iter(lambda: source.read(_BLOCK), b"")
        content = shard.data.content.bytes
        try:
            for piece in decompressed(blocks, shard.data.compression, content):
                for (start, end), kept in zip(ranges, pieces, strict=True):
                    kept.extend(piece[max(0, start - at) : max(0, end - at)])
                at += len(piece)
                if at >= ranges[-1][1]:
                    break
        except RecordError as error:
            raise _mismatch(shard, str(error)) from None
    return [bytes(piece) for piece in pieces]


def _origin(shard: Shard, record: bytes) -> Origin:
    payload = memoryview(record)[HEADER_BYTES:-FOOTER_BYTES]
    try:
        return Origin(
            path=value(payload, "path", bytes).decode(errors="replace"),
            window=value(payload, "window", int),
            channel=value(payload, "channel", int),
        )
    except RecordError as error:
        raise _mismatch(shard, str(error)) from None


def _mismatch(shard: Shard, found: str) -> ShardMismatch:
    return ShardMismatch(
        where=shard.data.location,
        expected="records with path, window and channel",
        found=found,
        hint="Something changed the shard during training, or it was not written by the sharder.",
    )
