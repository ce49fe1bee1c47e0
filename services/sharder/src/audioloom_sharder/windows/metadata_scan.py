"""Scan a features file: which split each window falls into, and its place in the order to come.

Only the columns that say what a window is are read. What a scan answers is small and sorted by
hash, so that the next step can rank one range of hashes at a time, whatever the number of windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audioloom_sharder.balance.resampling import times_of
from audioloom_sharder.formats.example import encoded_size
from audioloom_sharder.formats.tfrecord import OVERHEAD_BYTES
from audioloom_sharder.inputs.filters import take
from audioloom_sharder.inputs.window import Row, recording_name, rows_of
from audioloom_sharder.splits.groups_file import merged
from audioloom_sharder.splits.hashing import group_hashes, rank_hashes
from audioloom_sharder.splits.lookup import NO_SPLIT, Placed, distinct_hashes, splits_of
from audioloom_sharder.splits.policy import group_of
from audioloom_sharder.splits.ratios import trained_split
from audioloom_sharder.statistics.targets import (
    NOTHING,
    Targets,
    is_target,
    summed_targets,
    targets_of,
)
from audioloom_sharder.windows.record import fault_of, record_of
from audioloom_sharder.windows.rules import Rules

SECTIONS: dict[str, np.dtype[np.void]] = {
    # One record to be: its window's hash, its split, its row in the file; copies one by one.
    "records": np.dtype([("high", "<u8"), ("low", "<u8"), ("split", "u1"), ("row", "<u4")]),
    # One group in this file: its hash, its split, its windows.
    "groups": np.dtype([("high", "<u8"), ("split", "u1"), ("records", "<u4")]),
    # One recording in this file.
    "recordings": np.dtype([("high", "<u8"), ("split", "u1")]),
    # One content (by checksum) of a recording, in each split where it occurs.
    "contents": np.dtype([("high", "<u8"), ("split", "u1")]),
}
"""The arrays of a scan, each sorted by its hash ("high" is the part that ranges are cut by)."""


@dataclass
class SplitCount:
    """What falls into one split; bytes are of the shards, class numbers taken for one byte."""

    records: int = 0
    bytes: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    targets: Targets = NOTHING
    """Of the numbers, where those are learned."""

    def to_json(self) -> dict[str, Any]:
        """As a receipt holds it."""
        return {
            "records": self.records,
            "bytes": self.bytes,
            "labels": dict(self.labels),
            "targets": self.targets.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SplitCount:
        """From a receipt."""
        targets = Targets.from_json(value["targets"])
        return cls(value["records"], value["bytes"], Counter(value["labels"]), targets)


@dataclass
class Summary:
    """The counts of one or more scans, by split name, and the rows that nothing can be made of."""

    splits: dict[str, SplitCount]
    faults: dict[str, tuple[int, str]]
    """Kind of fault: how many rows, and the first of them in words."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why rows were left out, as was asked for: how many."""
    ungrouped: int = 0
    """Rows whose recording was taken for their group."""

    def to_json(self) -> dict[str, Any]:
        """As a receipt holds it."""
        return {
            "splits": {name: one.to_json() for name, one in self.splits.items()},
            "faults": {kind: list(fault) for kind, fault in self.faults.items()},
            "left_out": dict(self.left_out),
            "ungrouped": self.ungrouped,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Summary:
        """From a receipt."""
        return cls(
            {name: SplitCount.from_json(one) for name, one in value["splits"].items()},
            {kind: (count, example) for kind, (count, example) in value["faults"].items()},
            Counter(value["left_out"]),
            value["ungrouped"],
        )


@dataclass(frozen=True)
class Scan:
    """One features file: the arrays of `SECTIONS` and the counts."""

    sections: dict[str, NDArray[np.void]]
    summary: Summary


def summed(parts: Iterable[Summary], names: Iterable[str]) -> Summary:
    """All scans together; splits in the order of *names*, also those that nothing fell into."""
    whole = Summary({name: SplitCount() for name in names}, {})
    for part in parts:
        for name, one in part.splits.items():
            total = whole.splits[name]
            total.records += one.records
            total.bytes += one.bytes
            total.labels.update(one.labels)
            total.targets = summed_targets((total.targets, one.targets))
        for kind, (count, example) in part.faults.items():
            before, first = whole.faults.get(kind, (0, example))
            whole.faults[kind] = (before + count, min(first, example))
        whole.left_out.update(part.left_out)
        whole.ungrouped += part.ungrouped
    return whole


@dataclass(frozen=True)
class Looked:
    """The windows of one features file that the filters take, element by element.

    Attributes:
        rows: what they are.
        numbers: their rows in the file.
        groups: their groups, and the hash of each.
        split: the number of the split of each.
        left_out: what the filters left out, and why.
        seed: what rank hashes are keyed by.
    """

    rows: list[Row]
    numbers: NDArray[np.intp]
    groups: list[str]
    group_hash: NDArray[np.uint64]
    split: NDArray[np.uint8]
    left_out: Counter[str]
    seed: int

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """The rank hash of each, shape (windows, 2): microseconds each, and not all need them."""
        return rank_hashes(
            [recording_name(row) for row in self.rows],
            [row.channel for row in self.rows],
            [row.window for row in self.rows],
            seed=self.seed,
        )

    def __getitem__(self, which: NDArray[np.bool_]) -> Looked:
        return Looked(
            list(compress(self.rows, which.tolist())),
            self.numbers[which],
            list(compress(self.groups, which.tolist())),
            self.group_hash[which],
            self.split[which],
            self.left_out,
            self.seed,
        )


def look(table: pa.Table | pa.RecordBatch, rules: Rules, placed: Placed | None = None) -> Looked:
    """What the identity columns say of each window that is taken.

    Args:
        table: the columns.
        rules: the run's.
        placed: what was decided for this file, where `SplitPolicy.looked_up`.
    """
    taken, left_out = take(table, rules.filters)
    # Without the values: a filter copies what it takes.
    rows = list(rows_of(table.select(list(Row._fields)).filter(pa.array(taken))))
    groups = [group_of(row, rules.policy) for row in rows]
    group_hash = distinct_hashes(groups, rules.policy.seed)
    found = Looked(
        rows=rows,
        numbers=np.flatnonzero(taken),
        groups=groups,
        group_hash=group_hash,
        split=splits_of(rows, groups, group_hash, rules.policy, placed),
        left_out=left_out,
        seed=rules.policy.seed,
    )
    if rules.policy.unassigned == "refuse":
        return found
    said = found.split != NO_SPLIT
    if lost := int((~said).sum()):
        left_out["no split"] += lost
    return found[said]


def to_be_resampled(found: Looked, rules: Rules) -> tuple[list[str], NDArray[np.uint64]]:
    """Labels and rank hashes of the windows of the training split that have a label."""
    mine = _trained(found, rules)
    return [row.label or "" for row in compress(found.rows, mine.tolist())], found.hashes[mine]


def times(found: Looked, rules: Rules) -> NDArray[np.int64]:
    """How often each window becomes a record: once, but for the resampling."""
    often = np.ones(len(found.rows), np.int64)
    if rules.resampling is not None:
        labels, hashes = to_be_resampled(found, rules)
        often[_trained(found, rules)] = times_of(labels, hashes, rules.resampling)
    return often


def _trained(found: Looked, rules: Rules) -> NDArray[np.bool_]:
    labelled = np.fromiter((bool(row.label) for row in found.rows), bool, len(found.rows))
    return np.asarray(
        labelled & (found.split == rules.policy.splits.index(trained_split(rules.policy.splits))),
        bool,
    )


def scan(table: pa.Table, rules: Rules, placed: Placed | None = None) -> Scan:
    """Scan the identity columns of one features file: see `look`."""
    looked = look(table, rules, placed)
    faults = _faults(looked, rules)
    often = times(looked, rules)
    if rules.resample == "under":
        looked.left_out["resampled"] += int((often == 0).sum())
    looked.split[looked.split == NO_SPLIT] = 0  # told as a fault: nothing is written
    pairs = zip(looked.groups, looked.rows, strict=True)
    ungrouped = sum(bool(group) and not row.group for group, row in pairs)
    records = _records(looked, often)
    found, often = looked[often > 0], often[often > 0]
    return Scan(
        {
            "records": records,
            "groups": _groups(found, often),
            "recordings": _distinct(_recording_hashes(found.rows), found.split, "recordings"),
            "contents": _distinct(_content_hashes(found.rows), found.split, "contents"),
        },
        Summary(_counts(found, often, rules), faults, found.left_out, ungrouped),
    )


def _faults(looked: Looked, rules: Rules) -> dict[str, tuple[int, str]]:
    known = frozenset(rules.schema.labels or ())
    found: dict[str, tuple[int, str]] = {}
    for row, group, number in zip(looked.rows, looked.groups, looked.split.tolist(), strict=True):
        fault = fault_of(row, group, rules, known)
        if fault is None and number == NO_SPLIT:
            fault = "no split"
        if fault is not None:
            label = f" (label {row.label!r:.100})" if fault.endswith(" label") else ""
            example = f"{row.path}, window {row.window}{label}"
            count, first = found.get(fault, (0, example))
            found[fault] = (count + 1, min(first, example))
    return found


def _counts(found: Looked, often: NDArray[np.int64], rules: Rules) -> dict[str, SplitCount]:
    counts = [SplitCount() for _ in rules.policy.splits]
    columns = (found.rows, found.groups, found.split.tolist(), often.tolist())
    for row, group, number, copies in zip(*columns, strict=True):
        record = record_of(row, group, 0 if row.label else -1, b"", rules.schema)
        size = encoded_size(record, rules.schema.values, rules.schema.encoding) + OVERHEAD_BYTES
        count = counts[number]
        count.records += copies
        count.bytes += copies * size
        if row.label:
            count.labels[row.label] += copies
    if rules.schema.target == "number":
        for number, count in enumerate(counts):
            mine = compress(found.rows, (found.split == number).tolist())
            # A row without a number is told as a fault, and labels alone are resampled.
            count.targets = targets_of(row.target for row in mine if is_target(row.target))
    return {
        name: count
        for name, count in zip(rules.policy.splits, counts, strict=True)
        if count.records
    }


def _records(found: Looked, often: NDArray[np.int64]) -> NDArray[np.void]:
    """Each window as often as it is taken, which may be never."""
    records = np.empty(len(found.rows), dtype=SECTIONS["records"])
    records["high"], records["low"] = found.hashes[:, 0], found.hashes[:, 1]
    records["split"] = found.split
    records["row"] = found.numbers
    order = np.lexsort((records["low"], records["high"]))
    return np.repeat(records[order], often[order])


def _groups(found: Looked, often: NDArray[np.int64]) -> NDArray[np.void]:
    named = np.array([bool(group) for group in found.groups], dtype=bool)
    each = np.empty(int(named.sum()), dtype=SECTIONS["groups"])
    each["high"], each["split"] = found.group_hash[named], found.split[named]
    each["records"] = often[named]
    whole = merged([each])
    groups = np.empty(len(whole), dtype=SECTIONS["groups"])
    groups["high"], groups["split"] = whole["group"], whole["split"]
    groups["records"] = whole["records"]
    return groups


def _distinct(
    hashes: NDArray[np.uint64], split: NDArray[np.uint8], section: str
) -> NDArray[np.void]:
    pairs = np.empty(len(hashes), dtype=SECTIONS[section])
    pairs["high"], pairs["split"] = hashes, split
    return np.unique(pairs)


def _recording_hashes(rows: list[Row]) -> NDArray[np.uint64]:
    return group_hashes(map(recording_name, rows), seed=0)


def _content_hashes(rows: list[Row]) -> NDArray[np.uint64]:
    return group_hashes((row.recording_sha256 for row in rows), seed=0)
