"""Look at one shard, or at one features file, and say what is there: the units of `verify`.

Records and windows are compared as sets without being held: each contributes the hash of its key
and its bytes to a sum, and equal sums mean the same set (but for accidents of one in 2^128).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from audioloom_manifest import FileEntry, ManifestError, Uncompressed, check_file
from audioloom_stage import BadData
from audioloom_storage import Location, StorageError, open_read, read_bytes, stat
from numpy.typing import NDArray

from audioloom_sharder.balance.resampling import times_of
from audioloom_sharder.errors import BadFeatures, DamagedRecord
from audioloom_sharder.formats.codec import Packing, unpack
from audioloom_sharder.formats.example import Record, encode
from audioloom_sharder.formats.index import load
from audioloom_sharder.formats.tfrecord import HEADER_BYTES, frame, masked_crc
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.inputs.reader import read_windows, values_of
from audioloom_sharder.splits.hashing import rank_hashes, record_key
from audioloom_sharder.splits.lookup import Placed
from audioloom_sharder.splits.policy import group_of
from audioloom_sharder.splits.ratios import trained_split
from audioloom_sharder.statistics.coefficients import Moments, moments_of, summed
from audioloom_sharder.statistics.targets import (
    NOTHING,
    Targets,
    is_target,
    summed_targets,
    targets_of,
)
from audioloom_sharder.verification.splits import Groups, wrong_splits
from audioloom_sharder.windows.metadata_scan import look, times, to_be_resampled
from audioloom_sharder.windows.record import record_of
from audioloom_sharder.windows.rules import Rules

_MODULUS = 1 << 128
_WINDOWS = 64
"""Held at a time to sum their values."""
_PROBLEMS = 5
"""Of one shard: the first are enough."""


@dataclass(frozen=True)
class Pair:
    """A shard and its index, as the list of files has them."""

    split: str
    number: int
    shard: FileEntry
    index: FileEntry | None
    """None where the format has none."""


@dataclass
class Seen:
    """What was found in a file, or in several."""

    split: str = ""
    records: int = 0
    size: int = 0
    content: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    moments: list[Moments] = field(default_factory=list)
    targets: Targets = NOTHING
    left_out: Counter[str] = field(default_factory=Counter)
    offered: Counter[str] = field(default_factory=Counter)
    """Windows of each label in the features that a resampling chose from."""
    problems: list[str] = field(default_factory=list)

    def add(self, record: Record, payload: bytes, times: int = 1) -> None:
        """Take a record into the account, so many times."""
        self.records += times
        key = record_key(record.path, record.channel, record.window)
        mark = blake2b(key + masked_crc(payload).to_bytes(4, "little"), digest_size=16)
        self.content = (self.content + times * int.from_bytes(mark.digest(), "little")) % _MODULUS
        if record.label:
            self.labels[record.label] += times

    def complain(self, text: str) -> None:
        """Note a problem, unless there are many already."""
        if len(self.problems) < _PROBLEMS:
            self.problems.append(text)


def together(parts: Sequence[Seen]) -> Seen:
    """The account of several files; problems are not carried over."""
    whole = Seen()
    for part in parts:
        whole.records += part.records
        whole.size += part.size
        whole.content = (whole.content + part.content) % _MODULUS
        whole.labels.update(part.labels)
        whole.moments += part.moments
        whole.targets = summed_targets((whole.targets, part.targets))
        whole.left_out.update(part.left_out)
        whole.offered.update(part.offered)
    return whole


def check_pair(
    folder: Location,
    rules: Rules,
    packing: Packing,
    labels: Sequence[str],
    groups: Groups,
    pair: Pair,
) -> Seen:
    """Read a shard and its index from end to end."""
    seen = Seen(pair.split)
    for entry in (pair.shard, pair.index):
        try:
            if entry is not None:
                check_file(folder, entry)
        except (ManifestError, StorageError) as error:
            seen.complain(str(error))
    if seen.problems and not packing.indexed:
        return seen  # a library would read it, and damage is nothing to give to a library
    try:
        rows = _read_shard(folder, rules, packing, labels, groups, pair, seen)
        if pair.index is not None:
            _check_index(folder / pair.index.path, pair.index.bytes, rows, seen)
    except StorageError:
        pass  # told above
    except (DamagedRecord, BadFeatures) as error:
        seen.complain(f"{folder / pair.shard.path}: {error}")
    return seen


def look_at_source(
    rules: Rules, labels: Sequence[str], unit: tuple[int, Source, Placed | None]
) -> Seen:
    """The account that the shards of one features file should give."""
    seen = Seen()
    _, source, placed = unit
    ids = {label: number for number, label in enumerate(labels)}
    try:
        for _, batch in read_windows(source, rules.schema.feature):
            values = values_of(batch, rules.schema.feature)
            looked = look(batch, rules, placed)
            seen.left_out.update(looked.left_out)
            often = times(looked, rules)
            if rules.resampling is not None:
                seen.offered.update(to_be_resampled(looked, rules)[0])
            if rules.resample == "under":
                seen.left_out["resampled"] += int((often == 0).sum())
            for at, row, copies in zip(
                looked.numbers.tolist(), looked.rows, often.tolist(), strict=True
            ):
                window = bytes(values[at * rules.schema.values : (at + 1) * rules.schema.values])
                label = ids.get(row.label, -1) if row.label else -1
                record = record_of(row, group_of(row, rules.policy), label, window, rules.schema)
                seen.add(record, encode(record, rules.schema.encoding)[0], copies)
    except (ManifestError, StorageError, BadData) as error:
        seen.complain(str(error))
    return seen


def _read_shard(
    folder: Location,
    rules: Rules,
    packing: Packing,
    labels: Sequence[str],
    groups: Groups,
    pair: Pair,
    seen: Seen,
) -> NDArray[np.int64]:
    """Check every record of a shard; answer the index that it should have."""
    where = folder / pair.shard.path
    rows: list[tuple[int, int, int, int]] = []
    records: list[Record] = []
    values_seen: list[bytes | memoryview] = []
    seen.size = stat(where).size
    plain = hashlib.sha256()
    with open_read(where) as stream:
        for one in unpack(packing, rules.schema, stream, pair.shard):
            record = one.record
            canonical, values = encode(record, rules.schema.encoding)
            if canonical != one.payload or len(record.mfcc) != rules.schema.values:
                raise DamagedRecord(f"record {len(records)} is not in the form it was")
            seen.add(record, one.payload)
            if packing.is_stream:
                plain.update(frame(one.payload))
            rows.append(
                (one.offset, one.length, one.offset + HEADER_BYTES + values, record.label_id)
            )
            records.append(record._replace(mfcc=b""))
            values_seen.append(record.mfcc)
            if len(values_seen) == _WINDOWS:
                seen.moments.append(moments_of(values_seen, rules.schema.feature, where=where))
                values_seen.clear()
    if values_seen:
        seen.moments.append(moments_of(values_seen, rules.schema.feature, where=where))
    seen.targets = targets_of(one.target for one in records if is_target(one.target))
    seen.moments[:] = [summed(seen.moments, rules.schema.feature.shape[0])]
    unpacked = Uncompressed(bytes=sum(row[1] for row in rows), sha256=plain.hexdigest())
    _check_claims(where, pair.shard, unpacked if packing.is_stream else None, seen)
    ids = {label: number for number, label in enumerate(labels)}
    for at, record in enumerate(records):
        _check_targets(f"{where}: record {at}", rules, ids, record, seen)
    for problem in wrong_splits(pair.split, records, rules, groups):
        seen.complain(f"{where}: {problem}")
    _check_order(where, rules, records, seen)
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _check_claims(
    where: Location, claimed: FileEntry, unpacked: Uncompressed | None, seen: Seen
) -> None:
    """What the list of files says of a shard beyond its bytes."""
    if seen.records != claimed.records:
        seen.complain(f"{where}: expected {claimed.records} records, found {seen.records}")
    if claimed.labels is not None and seen.labels != claimed.labels:
        expected = claimed.labels
        seen.complain(f"{where}: expected {expected} of each label, found {dict(seen.labels)}")
    if unpacked != claimed.uncompressed:
        seen.complain(f"{where}: expected {claimed.uncompressed} when unpacked, found {unpacked}")


def _check_targets(
    where: str, rules: Rules, ids: Mapping[str, int], record: Record, seen: Seen
) -> None:
    expected = ids.get(record.label, -1)
    if record.label_id != expected or (rules.schema.target == "label" and expected < 0):
        seen.complain(
            f"{where}: expected number {expected} for the label {record.label!r:.100}, found"
            f" {record.label_id}"
        )
    if (record.target is None) != (rules.schema.target == "label"):
        seen.complain(f"{where}: expected a target only when numbers are learned")


def _check_order(where: Location, rules: Rules, records: Sequence[Record], seen: Seen) -> None:
    keys = rank_hashes(
        [record.path for record in records],
        [record.channel for record in records],
        [record.window for record in records],
        seed=rules.policy.seed,
    )
    high, low = keys[:, 0], keys[:, 1]
    rising = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    if rules.resampling is not None and _is_trained(rules, seen.split):
        often = times_of([record.label for record in records], keys, rules.resampling)
        if not often.all():
            at = int(np.flatnonzero(often == 0)[0])
            seen.complain(f"{where}: record {at} should have been left out by the resampling")
        # Copies go round the shards, so that more of them than there are shards meet in one.
        rising |= (often[1:] > 1) & (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    if not rising.all():
        at = int(np.flatnonzero(~rising)[0]) + 1
        seen.complain(f"{where}: record {at} is out of order, or occurs twice")


def _is_trained(rules: Rules, split: str) -> bool:
    return split == trained_split(rules.policy.splits)


def _check_index(where: Location, size: int, expected: NDArray[np.int64], seen: Seen) -> None:
    try:
        found = load(read_bytes(where, limit=size))
    except DamagedRecord as error:
        seen.complain(f"{where}: {error}")
        return
    if not np.array_equal(found, expected):
        seen.complain(f"{where}: does not say where the records of its shard are")
