"""Scan the identity columns of a features file: the split and the rank hash of each window.

A scan is small and sorted by hash, so that the next step can rank one range of hashes at a time,
whatever the number of windows.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from audioloom_manifest.records.example import encoded_size
from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES
from numpy.typing import NDArray
from pydantic import TypeAdapter

from audioloom_sharder.inputs.rows import Row
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.groups_file import GROUP, merge_groups
from audioloom_sharder.splits.hashing import group_hashes
from audioloom_sharder.splits.ratios import NO_SPLIT
from audioloom_sharder.statistics import NO_TARGETS, TargetSums, is_target, target_sums
from audioloom_sharder.windows.selection import Windows, copies_of, record_of

_LONGEST_LABEL = 1000
_PAIR = np.dtype([("high", "<u8"), ("split", "u1")])
SECTIONS: dict[str, np.dtype[np.void]] = {
    # One future record: its window's hash, split and row in the file; each copy has an entry.
    "records": np.dtype([("high", "<u8"), ("low", "<u8"), ("split", "u1"), ("row", "<u4")]),
    "groups": GROUP,
    # One recording in this file.
    "recordings": _PAIR,
    # One content (by checksum) of a recording, in each split where it occurs.
    "contents": _PAIR,
}
"""The arrays of a scan, each sorted by its hash, the first field; it says the range."""

COUNTED = ("groups", "recordings", "contents")
"""The sections that `ranking.count_distinct` counts."""


@dataclass
class SplitCount:
    """The counts of one split; bytes are those of the shards, with one byte per label number."""

    records: int = 0
    bytes: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    targets: TargetSums = NO_TARGETS
    """Sums of the targets, where numbers are learned."""


@dataclass
class Summary:
    """The counts of one or more scans, by split name, and the rows that cannot become records."""

    splits: dict[str, SplitCount]
    faults: dict[str, tuple[int, str]]
    """Kind of fault: the number of rows, and a description of the first."""
    excluded: Counter[str] = field(default_factory=Counter)
    """Reason for leaving rows out, as requested: the number of rows."""
    ungrouped: int = 0
    """Rows without a group, whose recording is their group."""


SUMMARY = TypeAdapter(Summary)
"""The form of a summary in a receipt."""


Sections = dict[str, NDArray[np.void]]
"""The arrays of `SECTIONS`."""


def scan(windows: Windows, rules: Rules) -> tuple[Sections, Summary]:
    """Scan the windows of one features file."""
    faults = _faults(windows, rules)
    copies = copies_of(windows, rules)
    windows.split[windows.split == NO_SPLIT] = 0  # reported as a fault: nothing is written
    pairs = zip(windows.groups, windows.rows, strict=True)
    ungrouped = sum(bool(group) and not row.group for group, row in pairs)
    records = _records(windows, copies)
    found, copies = windows[copies > 0], copies[copies > 0]
    sums = (row.recording_sha256 for row in found.rows)
    sections = {
        "records": records,
        "groups": _groups(found, copies),
        "recordings": _distinct((row.path for row in found.rows), found.split),
        "contents": _distinct(sums, found.split),
    }
    return sections, Summary(_counts(found, copies, rules), faults, found.excluded, ungrouped)


def sum_summaries(parts: Iterable[Summary], names: Iterable[str]) -> Summary:
    """Sum several summaries; splits are in the order of *names*, empty ones too."""
    whole = Summary({name: SplitCount() for name in names}, {})
    for part in parts:
        for name, one in part.splits.items():
            total = whole.splits[name]
            total.records += one.records
            total.bytes += one.bytes
            total.labels.update(one.labels)
            total.targets += one.targets
        for kind, (count, example) in part.faults.items():
            before, first = whole.faults.get(kind, (0, example))
            whole.faults[kind] = (before + count, min(first, example))
        whole.excluded.update(part.excluded)
        whole.ungrouped += part.ungrouped
    return whole


def _faults(windows: Windows, rules: Rules) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    columns = (windows.rows, windows.groups, windows.split.tolist())
    for row, group, number in zip(*columns, strict=True):
        if fault := _fault_of(row, group, number, rules):
            label = f" (label {row.label!r:.100})" if fault.endswith(" label") else ""
            example = f"{row.path}, window {row.window}{label}"
            count, first = found.get(fault, (0, example))
            found[fault] = (count + 1, min(first, example))
    return found


def _fault_of(row: Row, group: str, split: int, rules: Rules) -> str | None:
    """Return the reason why the row of this group and split cannot become a record, or None."""
    if not group and len(rules.splits) > 1:
        return "ungrouped"
    if row.label and rules.vocabulary and row.label not in rules.vocabulary:
        return "unknown label"
    if row.label and len(row.label) > _LONGEST_LABEL:
        return "long label"
    if not rules.has_target and not row.label:
        return "unlabelled"
    if rules.has_target and not is_target(row.target):
        return "untargeted"
    return "no split" if split == NO_SPLIT else None


def _counts(found: Windows, copies: NDArray[np.int64], rules: Rules) -> dict[str, SplitCount]:
    counts = [SplitCount() for _ in rules.splits]
    columns = (found.rows, found.groups, found.split.tolist(), copies.tolist())
    for row, group, number, times in zip(*columns, strict=True):
        record = record_of(row, group, 0 if row.label else -1, b"", rules)
        size = encoded_size(record, rules.window_bytes, rules.stored) + OVERHEAD_BYTES
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


def _distinct(names: Iterable[str], split: NDArray[np.uint8]) -> NDArray[np.void]:
    pairs = np.empty(len(split), _PAIR)
    pairs["high"], pairs["split"] = group_hashes(names, seed=0), split
    return np.unique(pairs)
