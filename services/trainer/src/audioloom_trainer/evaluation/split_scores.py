"""The entries of the manifest and the report for each scored split.

A report names a few records and where they come from. The index says where a record lies, so only
these records of an uncompressed shard are read. A compressed shard is unpacked up to the last one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import decompressed
from audioloom_manifest.records.example import value
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES
from audioloom_storage import open_read, read_bytes

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.evaluation.scores import (
    Accumulator,
    baselines,
    calibration,
    class_table,
    share_of_right,
)
from audioloom_trainer.input.sampler import EpochOrder
from audioloom_trainer.shards.shard_set import Shard, ShardSet, Split

_BLOCK = 1 << 20


@dataclass(frozen=True)
class SplitEvaluation:
    """The scores and counts of one split."""

    scores: dict[str, float]
    """Loss and the model's metrics."""
    counts: Accumulator
    """Of its predictions; empty where numbers are learned."""


def evaluation_report(
    shard_set: ShardSet, evaluated: Mapping[str, SplitEvaluation], train: Split
) -> dict[str, Any]:
    """Return the evaluation of all scored splits; the commonest label of *train* is a guess.

    Returns:
        The scores of each split; for classes also the confusion matrix (null for too many),
        precision and recall, calibration and the records of the highest loss. Also the criterion
        of the splits.
    """
    splits: dict[str, Any] = {}
    for name, each in evaluated.items():
        counts, labels = each.counts, shard_set.labels
        scores = dict(each.scores)
        splits[name] = {"records": shard_set.splits[name].layout.total, "scores": scores}
        if shard_set.classes is not None:
            scores.setdefault("accuracy", share_of_right(counts.by_class))
            learnt = dict.fromkeys(labels, 0) | train.labels
            scores.update(baselines(learnt, shard_set.splits[name].labels))
            table = counts.confusion
            splits[name]["confusion"] = None if table is None else table.tolist()
            splits[name]["classes"] = class_table(counts.by_class, labels)
            # Outputs that are no probabilities have no confidence.
            splits[name]["calibration"] = None if counts.improper else calibration(counts.bins)
            splits[name]["worst"] = _worst(shard_set, name, counts)
        splits[name]["scores"] = {k: value for k, value in scores.items() if np.isfinite(value)}
    return {"labels": list(shard_set.labels), "splits_by": shard_set.splits_by, "splits": splits}


def with_mean_baseline(
    evaluation: Mapping[str, Any], shard_set: ShardSet, *, train: Split
) -> dict[str, Any]:
    """Add the baseline of always answering the mean to an evaluation of numbers.

    The baseline is not in the run's file: shards of contract 1.0 lack the mean, but must give the
    same run.
    """
    splits = {}
    for name, found in evaluation["splits"].items():
        own, learnt = shard_set.split(name).targets, train.targets
        scores = dict(found["scores"])
        if own is not None and learnt is not None:
            scores["mse_of_mean"] = own.variance + (own.mean - learnt.mean) ** 2
        splits[name] = {**found, "scores": scores}
    return {**evaluation, "splits": splits}


def _worst(shard_set: ShardSet, name: str, counts: Accumulator) -> list[dict[str, Any]]:
    labels, rows = shard_set.labels, counts.worst.tolist()
    found = origins(shard_set, shard_set.split(name), counts.worst[:, 0])
    return [
        {
            **origin,
            "label": labels[int(label)],
            "predicted": labels[int(predicted)],
            "loss": loss,
            "confidence": confidence,
        }
        for origin, (_, label, predicted, loss, confidence) in zip(found, rows, strict=True)
    ]


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


def _read(shard: Shard, ranges: list[tuple[int, int]]) -> list[bytes]:
    """Read ranges of a shard, first byte and end, unpacked; they must ascend and not overlap."""
    with open_read(shard.data.location) as source:
        if shard.data.uncompressed is not None:
            return _unpack(shard, source, ranges)
        pieces = []
        for start, end in ranges:
            source.seek(start)
            pieces.append(source.read(end - start))
        return pieces


def _unpack(shard: Shard, source: BinaryIO, ranges: list[tuple[int, int]]) -> list[bytes]:
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
