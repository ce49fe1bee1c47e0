"""Counts of the scanned windows, by split, and the rows that cannot become records."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from audioloom_sharder.statistics.targets import NO_TARGETS, TargetSums


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
