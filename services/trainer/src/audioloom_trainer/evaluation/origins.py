"""Read the origins of the few records that a report names, from the shards in storage.

The index says where a record lies, so only these records of an uncompressed shard are read. A
compressed shard is unpacked up to the last of these records.
"""

from collections.abc import Iterable
from typing import BinaryIO

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import decompressed
from audioloom_manifest.records.example import value
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from audioloom_storage import open_read, read_bytes

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.input.sampler import EpochOrder
from audioloom_trainer.shards.shard_set import Shard, ShardSet, Split

_BLOCK = 1 << 20

Range = tuple[int, int]
"""First byte, and the one after the last."""


def origins(
    shard_set: ShardSet, split: Split, positions: Iterable[float]
) -> list[dict[str, str | int]]:
    """Return the origins of the records at *positions* of a split's natural order.

    Returns:
        "path": the recording; "window": its number; "channel": -1 for the mix of all channels.

    Raises:
        ShardMismatch: a shard or an index has changed since it was verified.
        StorageError: a shard or an index cannot be read.
    """
    wanted = np.array(list(positions), np.int64)
    rows = EpochOrder(split.layout).locate(wanted)
    found: dict[tuple[int, int], dict[str, str | int]] = {}
    for number in np.unique(rows[:, 0]).tolist():
        inside = np.unique(rows[rows[:, 0] == number, 1]).tolist()
        shard = split.shards[number]
        index = shard_set.parse_index(
            shard, read_bytes(shard.index.location, limit=shard.index.bytes)
        )
        ranges = [
            (start := int(index.offset[row]), start + int(index.length[row])) for row in inside
        ]
        try:
            for row, record in zip(inside, _read(shard, ranges), strict=True):
                payload = memoryview(record)[HEADER_BYTES:-FOOTER_BYTES]
                found[number, row] = {
                    "path": value(payload, "path", bytes).decode(errors="replace"),
                    "window": value(payload, "window", int),
                    "channel": value(payload, "channel", int),
                }
        except RecordError as error:
            raise ShardMismatch(
                where=shard.data.location,
                expected="records with path, window and channel",
                found=str(error),
                hint="Something changed the shard during training, or it was not written by the"
                " sharder.",
            ) from None
    return [found[number, row] for number, row in rows.tolist()]


def _read(shard: Shard, ranges: list[Range]) -> list[bytes]:
    """Read ranges of a shard, unpacked; they must ascend and not overlap."""
    with open_read(shard.data.location) as source:
        if shard.data.uncompressed is not None:
            return _unpack(shard, source, ranges)
        pieces = []
        for start, end in ranges:
            source.seek(start)
            pieces.append(source.read(end - start))
        return pieces


def _unpack(shard: Shard, source: BinaryIO, ranges: list[Range]) -> list[bytes]:
    pieces = [bytearray() for _ in ranges]
    at = 0
    blocks = iter(lambda: source.read(_BLOCK), b"")
    for piece in decompressed(blocks, shard.data.compression, shard.data.content.bytes):
        for (start, end), kept in zip(ranges, pieces, strict=True):
            kept.extend(piece[max(0, start - at) : max(0, end - at)])
        at += len(piece)
        if at >= ranges[-1][1]:
            break
    return [bytes(piece) for piece in pieces]
