"""Scan a features file: which split each window falls into, and its place in the order to come.

Only the columns that say what a window is are read. What a scan answers is small and sorted by
hash, so that the next step can rank one range of hashes at a time, whatever the number of windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audioloom_sharder.example import encoded_size
from audioloom_sharder.filters import take
from audioloom_sharder.keys import group_hashes, rank_hashes
from audioloom_sharder.rows import (
    Row,
    Rules,
    fault_of,
    group_of,
    record_of,
    recording_name,
    rows_of,
)
from audioloom_sharder.splits import split_of
from audioloom_sharder.tfrecord import OVERHEAD_BYTES

__all__ = ["SECTIONS", "Scan", "SplitCount", "Summary", "scan", "summed"]

SECTIONS: dict[str, np.dtype[np.void]] = {
    # One window: its hash, its split, its row in the file.
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


@dataclass
class Summary:
    """The counts of one or more scans, by split name, and the rows that nothing can be made of."""

    splits: dict[str, SplitCount]
    faults: dict[str, tuple[int, str]]
    """Kind of fault: how many rows, and the first of them in words."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why rows were left out, as was asked for: how many."""

    def to_json(self) -> dict[str, Any]:
        """As a receipt holds it."""
        return {
            "splits": {
                name: {"records": one.records, "bytes": one.bytes, "labels": dict(one.labels)}
                for name, one in self.splits.items()
            },
            "faults": {kind: list(fault) for kind, fault in self.faults.items()},
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Summary:
        """From a receipt."""
        return cls(
            {
                name: SplitCount(one["records"], one["bytes"], Counter(one["labels"]))
                for name, one in value["splits"].items()
            },
            {kind: (count, example) for kind, (count, example) in value["faults"].items()},
            Counter(value["left_out"]),
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
        for kind, (count, example) in part.faults.items():
            before, first = whole.faults.get(kind, (0, example))
            whole.faults[kind] = (before + count, min(first, example))
        whole.left_out.update(part.left_out)
    return whole


def scan(table: pa.Table, rules: Rules) -> Scan:
    """Scan the identity columns of one features file."""
    taken, left_out = take(table, rules.filters, rules.feature.sample_rate)
    rows = list(rows_of(table.filter(pa.array(taken))))
    groups = [group_of(row, rules) for row in rows]
    faults = _faults(rows, groups, rules)
    names = sorted(set(groups))
    by_group = dict(zip(names, group_hashes(names, seed=rules.seed).tolist(), strict=True))
    group_hash = np.array([by_group[group] for group in groups], dtype=np.uint64)
    split = split_of(group_hash, rules.shares)
    return Scan(
        {
            "records": _records(rows, np.flatnonzero(taken), split, rules),
            "groups": _groups(groups, group_hash, split),
            "recordings": _distinct(_recording_hashes(rows), split, "recordings"),
            "contents": _distinct(_content_hashes(rows), split, "contents"),
        },
        Summary(_counts(rows, groups, split, rules), faults, left_out),
    )


def _faults(rows: list[Row], groups: list[str], rules: Rules) -> dict[str, tuple[int, str]]:
    known = frozenset(rules.labels or ())
    found: dict[str, tuple[int, str]] = {}
    for row, group in zip(rows, groups, strict=True):
        fault = fault_of(row, group, rules, known)
        if fault is not None:
            label = f" (label {row.label!r:.100})" if fault.endswith(" label") else ""
            example = f"{row.path}, window {row.window}{label}"
            count, first = found.get(fault, (0, example))
            found[fault] = (count + 1, min(first, example))
    return found


def _counts(
    rows: list[Row], groups: list[str], split: NDArray[np.uint8], rules: Rules
) -> dict[str, SplitCount]:
    counts = [SplitCount() for _ in rules.shares]
    for row, group, number in zip(rows, groups, split.tolist(), strict=True):
        record = record_of(row, group, 0 if row.label else -1, b"", rules)
        count = counts[number]
        count.records += 1
        count.bytes += encoded_size(record, rules.values, rules.encoding) + OVERHEAD_BYTES
        if row.label:
            count.labels[row.label] += 1
    return {
        share.split: count
        for share, count in zip(rules.shares, counts, strict=True)
        if count.records
    }


def _records(
    rows: list[Row], numbers: NDArray[np.intp], split: NDArray[np.uint8], rules: Rules
) -> NDArray[np.void]:
    names = [recording_name(row) for row in rows]
    channels, windows = [row.channel for row in rows], [row.window for row in rows]
    hashes = rank_hashes(names, channels, windows, seed=rules.seed)
    found = np.empty(len(rows), dtype=SECTIONS["records"])
    found["high"], found["low"] = hashes[:, 0], hashes[:, 1]
    found["split"] = split
    found["row"] = numbers
    return found[np.lexsort((found["low"], found["high"]))]


def _groups(
    groups: list[str], hashes: NDArray[np.uint64], split: NDArray[np.uint8]
) -> NDArray[np.void]:
    named = np.array([bool(group) for group in groups], dtype=bool)
    unique, first, count = np.unique(hashes[named], return_index=True, return_counts=True)
    found = np.empty(len(unique), dtype=SECTIONS["groups"])
    found["high"], found["split"], found["records"] = unique, split[named][first], count
    return found


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
