"""Counts of the scanned windows, by split, and the rows that cannot become records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from audioloom_sharder.statistics.targets import NO_TARGETS, TargetSums


@dataclass
class SplitCount:
    """The counts of one split; bytes are those of the shards, with one byte per label number."""

    records: int = 0
    bytes: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    targets: TargetSums = NO_TARGETS
    """Sums of the targets, where numbers are learned."""

    def to_json(self) -> dict[str, Any]:
        """Convert to the form in a receipt."""
        return {
            "records": self.records,
            "bytes": self.bytes,
            "labels": dict(self.labels),
            "targets": self.targets.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SplitCount":
        """Read the counts in a receipt."""
        targets = TargetSums.from_json(value["targets"])
        return cls(value["records"], value["bytes"], Counter(value["labels"]), targets)


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

    def to_json(self) -> dict[str, Any]:
        """Convert to the form in a receipt."""
        return {
            "splits": {name: one.to_json() for name, one in self.splits.items()},
            "faults": {kind: list(fault) for kind, fault in self.faults.items()},
            "excluded": dict(self.excluded),
            "ungrouped": self.ungrouped,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Summary":
        """Read the counts in a receipt."""
        return cls(
            {name: SplitCount.from_json(one) for name, one in value["splits"].items()},
            {kind: (count, example) for kind, (count, example) in value["faults"].items()},
            Counter(value["excluded"]),
            value["ungrouped"],
        )


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
