"""Read one shard or one features file, and report its content: the units of `verify`.

Sums compare records and windows as sets without holding them in memory: each record adds the hash
of its key and bytes. Equal sums mean equal sets (except for accidents of one in 2^128).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from audioloom_manifest.checksum import Checksums
from audioloom_manifest.envelope import FileEntry, Uncompressed
from audioloom_manifest.errors import ManifestError, RecordError
from audioloom_manifest.file_list import check_file
from audioloom_manifest.records.example import Record, encode
from audioloom_manifest.records.index import HEADER_BYTES, load
from audioloom_manifest.records.tfrecord import frame, masked_crc
from audioloom_stage.errors import BadData
from audioloom_storage import Location, StorageError, open_read, read_bytes, stat
from numpy.typing import NDArray

from audioloom_sharder.balance.resampling import copies_of_windows
from audioloom_sharder.errors import BadFeatures, DamagedRecord
from audioloom_sharder.formats.codec import decode_shard
from audioloom_sharder.inputs.reader import read_windows, values_of
from audioloom_sharder.inputs.rows import group_of
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.hashing import rank_hashes, record_key
from audioloom_sharder.splits.ratios import training_split
from audioloom_sharder.statistics import (
    NO_TARGETS,
    CoefficientSums,
    TargetSums,
    coefficient_sums,
    is_target,
    target_sums,
)
from audioloom_sharder.steps.decide_splits import SourceUnit
from audioloom_sharder.verification.splits import RunClaims, wrong_splits
from audioloom_sharder.windows.selection import copies_of, record_of, resampled_windows, windows_of

_MODULUS = 1 << 128
_WINDOWS = 64
"""Windows that are held to sum their values."""
_PROBLEMS = 5
"""Problems that are reported of one shard."""


ShardFiles = tuple[FileEntry, FileEntry | None]
"""A shard and its index from the list of files, where the format has one."""


@dataclass
class Findings:
    """The content and the problems of one or more files."""

    split: str = ""
    records: int = 0
    size: int = 0
    content: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    coefficients: CoefficientSums = field(default_factory=CoefficientSums)
    targets: TargetSums = NO_TARGETS
    excluded: Counter[str] = field(default_factory=Counter)
    offered: Counter[str] = field(default_factory=Counter)
    """Windows of each label that a resampling chose from."""
    problems: list[str] = field(default_factory=list)

    def add(self, record: Record, payload: bytes, times: int = 1) -> None:
        """Count a record, *times* times."""
        self.records += times
        key = record_key(record.path, record.channel, record.window)
        mark = blake2b(key + masked_crc(payload).to_bytes(4, "little"), digest_size=16)
        self.content = (self.content + times * int.from_bytes(mark.digest(), "little")) % _MODULUS
        if record.label:
            self.labels[record.label] += times

    def report(self, text: str) -> None:
        """Add a problem, unless there are many already."""
        if len(self.problems) < _PROBLEMS:
            self.problems.append(text)


def total_findings(parts: Sequence[Findings]) -> Findings:
    """Add up the findings of several files, without their problems."""
    whole = Findings()
    for part in parts:
        whole.records += part.records
        whole.size += part.size
        whole.content = (whole.content + part.content) % _MODULUS
        whole.labels.update(part.labels)
        whole.coefficients += part.coefficients
        whole.targets += part.targets
        whole.excluded.update(part.excluded)
        whole.offered.update(part.offered)
    return whole


def check_shard(claims: RunClaims, files: ShardFiles) -> Findings:
    """Read a shard and its index from end to end."""
    shard, index = files
    seen = Findings(shard.split or "")
    for entry in files:
        try:
            if entry is not None:
                check_file(claims.folder, entry)
        except (ManifestError, StorageError) as error:
            seen.report(str(error))
    if seen.problems and not claims.rules.indexed:
        return seen  # a library reads such a shard, and must not get a damaged one
    try:
        rows = _read_shard(claims, shard, seen)
        if index is not None:
            _check_index(claims.folder / index.path, index.bytes, rows, seen)
    except StorageError:
        pass  # reported above
    except (RecordError, BadFeatures) as error:
        seen.report(f"{claims.folder / shard.path}: {error}")
    return seen


def expected_findings(rules: Rules, labels: Sequence[str], unit: SourceUnit) -> Findings:
    """Compute the findings that the shards of one features file should give."""
    seen, size = Findings(), rules.window_bytes
    lookup = unit.lookup()
    ids = {label: number for number, label in enumerate(labels)}
    try:
        for _, batch in read_windows(unit, rules.feature):
            values = values_of(batch, rules.feature)
            windows = windows_of(batch, rules, lookup)
            copies = copies_of(windows, rules)
            seen.excluded.update(windows.excluded)
            if rules.resampling is not None:
                seen.offered.update(resampled_windows(windows, rules)[0])
            rows = zip(windows.numbers.tolist(), windows.rows, copies.tolist(), strict=True)
            for at, row, times in rows:
                window = bytes(values[at * size : (at + 1) * size])
                label = ids.get(row.label, -1) if row.label else -1
                record = record_of(row, group_of(row, rules), label, window, rules)
                seen.add(record, encode(record, rules.stored)[0], times)
    except (ManifestError, StorageError, BadData) as error:
        seen.report(str(error))
    return seen


def _read_shard(claims: RunClaims, shard: FileEntry, seen: Findings) -> NDArray[np.int64]:
    """Check every record of a shard; return the index that it should have."""
    where, rules = claims.folder / shard.path, claims.rules
    rows: list[tuple[int, int, int, int]] = []
    records: list[Record] = []
    held: list[bytes | memoryview] = []
    seen.size = stat(where).size
    plain = Checksums()
    with open_read(where) as stream:
        for one in decode_shard(rules, stream, shard):
            record = one.record
            canonical, values = encode(record, rules.stored)
            if canonical != one.payload or len(record.values) != rules.window_bytes:
                raise DamagedRecord(f"record {len(records)} is not in the form it was")
            seen.add(record, one.payload)
            if rules.is_stream:
                plain.update(frame(one.payload))
            rows.append(
                (one.offset, one.length, one.offset + HEADER_BYTES + values, record.label_id)
            )
            records.append(record._replace(values=b""))
            held.append(record.values)
            if len(held) == _WINDOWS:
                seen.coefficients += coefficient_sums(b"".join(held), rules.feature, where=where)
                held.clear()
    seen.coefficients += coefficient_sums(b"".join(held), rules.feature, where=where)
    seen.targets = target_sums(one.target for one in records if is_target(one.target))
    if seen.records != shard.records:
        seen.report(f"{where}: expected {shard.records} records, found {seen.records}")
    if shard.labels is not None and seen.labels != shard.labels:
        expected = shard.labels
        seen.report(f"{where}: expected {expected} of each label, found {dict(seen.labels)}")
    if rules.is_stream:
        _check_unpacked(where, shard.uncompressed, sum(row[1] for row in rows), plain, seen)
    for at, record in enumerate(records):
        _check_targets(f"{where}: record {at}", claims, record, seen)
    for problem in wrong_splits(seen.split, records, claims):
        seen.report(f"{where}: {problem}")
    _check_order(where, claims, records, seen)
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _check_unpacked(
    where: Location, claimed: Uncompressed | None, size: int, plain: Checksums, seen: Findings
) -> None:
    if claimed is None or size != claimed.bytes:
        expected = claimed.bytes if claimed else "the size of the content in the list of files"
        seen.report(f"{where}: expected {expected} bytes when unpacked, found {size}")
    elif different := plain.difference(claimed):
        seen.report(f"{where}: expected {different[0]} when unpacked, found {different[1]}")


def _check_targets(where: str, claims: RunClaims, record: Record, seen: Findings) -> None:
    expected = claims.label_ids.get(record.label, -1)
    learns_labels = not claims.rules.has_target
    if record.label_id != expected or (learns_labels and expected < 0):
        seen.report(
            f"{where}: expected number {expected} for the label {record.label!r:.100}, found"
            f" {record.label_id}"
        )
    if (record.target is None) != learns_labels:
        seen.report(f"{where}: expected a target only when numbers are learned")


def _check_order(
    where: Location, claims: RunClaims, records: Sequence[Record], seen: Findings
) -> None:
    rules = claims.rules
    names = ((record.path, record.channel, record.window) for record in records)
    keys = rank_hashes(names, seed=rules.recipe.seed)
    high, low = keys[:, 0], keys[:, 1]
    rising = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    if rules.resampling is not None and seen.split == training_split(rules.splits):
        often = copies_of_windows([record.label for record in records], keys, rules.copies)
        if not often.all():
            at = int(np.flatnonzero(often == 0)[0])
            seen.report(f"{where}: record {at} should have been left out by the resampling")
        # Copies have consecutive ranks: a shard gets two if there are more copies than shards.
        rising |= (often[1:] > 1) & (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    if not rising.all():
        at = int(np.flatnonzero(~rising)[0]) + 1
        seen.report(f"{where}: record {at} is out of order, or occurs twice")


def _check_index(where: Location, size: int, expected: NDArray[np.int64], seen: Findings) -> None:
    try:
        found = load(read_bytes(where, limit=size))
    except RecordError as error:
        seen.report(f"{where}: {error}")
        return
    if not np.array_equal(found, expected):
        seen.report(f"{where}: does not say where the records of its shard are")
