"""Scan the identity columns of a features file: the split and the rank hash of each window.

A scan is small and sorted by hash, so that the next step can rank one range of hashes at a time,
whatever the number of windows.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa
from audioloom_manifest.records.example import encoded_size
from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES
from numpy.typing import NDArray

from audioloom_sharder.inputs.window import recording_name
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.groups_file import GROUP, merge_groups
from audioloom_sharder.splits.hashing import group_hashes
from audioloom_sharder.splits.lookup import SplitLookup
from audioloom_sharder.splits.ratios import NO_SPLIT
from audioloom_sharder.statistics.targets import is_target, target_sums
from audioloom_sharder.windows.record import fault_of, record_of
from audioloom_sharder.windows.selection import Windows, copies_of, windows_of
from audioloom_sharder.windows.summary import SplitCount, Summary

SECTIONS: dict[str, np.dtype[np.void]] = {
    # One future record: its window's hash, split and row in the file; each copy has an entry.
    "records": np.dtype([("high", "<u8"), ("low", "<u8"), ("split", "u1"), ("row", "<u4")]),
    "groups": GROUP,
    # One recording in this file.
    "recordings": np.dtype([("high", "<u8"), ("split", "u1")]),
    # One content (by checksum) of a recording, in each split where it occurs.
    "contents": np.dtype([("high", "<u8"), ("split", "u1")]),
}
"""The arrays of a scan, each sorted by its hash, the first field; it says the range."""

COUNTED = ("groups", "recordings", "contents")
"""The sections that `ranking.count_distinct` counts."""


@dataclass(frozen=True)
class Scan:
    """One features file: the arrays of `SECTIONS` and the counts."""

    sections: dict[str, NDArray[np.void]]
    summary: Summary


def scan(table: pa.Table, rules: Rules, lookup: SplitLookup | None = None) -> Scan:
    """Scan the identity columns of one features file; the arguments are those of `windows_of`."""
    windows = windows_of(table, rules, lookup)
    faults = _faults(windows, rules)
    copies = copies_of(windows, rules)
    if rules.recipe.resample == "under":
        windows.excluded["resampled"] += int((copies == 0).sum())
    windows.split[windows.split == NO_SPLIT] = 0  # reported as a fault: nothing is written
    pairs = zip(windows.groups, windows.rows, strict=True)
    ungrouped = sum(bool(group) and not row.group for group, row in pairs)
    records = _records(windows, copies)
    found, copies = windows[copies > 0], copies[copies > 0]
    sums = (row.recording_sha256 for row in found.rows)
    return Scan(
        {
            "records": records,
            "groups": _groups(found, copies),
            "recordings": _distinct(map(recording_name, found.rows), found.split, "recordings"),
            "contents": _distinct(sums, found.split, "contents"),
        },
        Summary(_counts(found, copies, rules), faults, found.excluded, ungrouped),
    )


def _faults(windows: Windows, rules: Rules) -> dict[str, tuple[int, str]]:
    known = frozenset(rules.recipe.labels or ())
    found: dict[str, tuple[int, str]] = {}
    for row, group, number in zip(
        windows.rows, windows.groups, windows.split.tolist(), strict=True
    ):
        fault = fault_of(row, group, rules, known)
        if fault is None and number == NO_SPLIT:
            fault = "no split"
        if fault is not None:
            label = f" (label {row.label!r:.100})" if fault.endswith(" label") else ""
            example = f"{row.path}, window {row.window}{label}"
            count, first = found.get(fault, (0, example))
            found[fault] = (count + 1, min(first, example))
    return found


def _counts(found: Windows, copies: NDArray[np.int64], rules: Rules) -> dict[str, SplitCount]:
    counts = [SplitCount() for _ in rules.splits]
    columns = (found.rows, found.groups, found.split.tolist(), copies.tolist())
    for row, group, number, times in zip(*columns, strict=True):
        record = record_of(row, group, 0 if row.label else -1, b"", rules)
        size = encoded_size(record, rules.window_bytes, rules.encoding) + OVERHEAD_BYTES
        count = counts[number]
        count.records += times
        count.bytes += times * size
        if row.label:
            count.labels[row.label] += times
    if rules.has_target:
        for number, count in enumerate(counts):
            mine = compress(found.rows, (found.split == number).tolist())
            # A row without a number is reported as a fault, and labels alone are resampled.
            count.targets = target_sums(row.target for row in mine if is_target(row.target))
    return {name: count for name, count in zip(rules.splits, counts, strict=True) if count.records}


def _records(found: Windows, copies: NDArray[np.int64]) -> NDArray[np.void]:
    records = np.empty(len(found.rows), dtype=SECTIONS["records"])
    records["high"], records["low"] = found.hashes[:, 0], found.hashes[:, 1]
    records["split"] = found.split
    records["row"] = found.numbers
    order = np.lexsort((records["low"], records["high"]))
    return np.repeat(records[order], copies[order])


def _groups(found: Windows, copies: NDArray[np.int64]) -> NDArray[np.void]:
    named = np.array([bool(group) for group in found.groups], dtype=bool)
    groups = np.empty(int(named.sum()), GROUP)
    groups["group"], groups["split"] = found.group_hash[named], found.split[named]
    groups["records"] = copies[named]
    return merge_groups([groups])


def _distinct(names: Iterable[str], split: NDArray[np.uint8], section: str) -> NDArray[np.void]:
    pairs = np.empty(len(split), dtype=SECTIONS[section])
    pairs["high"], pairs["split"] = group_hashes(names, seed=0), split
    return np.unique(pairs)
