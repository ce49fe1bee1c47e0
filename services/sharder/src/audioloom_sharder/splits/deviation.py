"""How far the labels are from the wish: of each label, the part of its records in each split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SHOWN = 10
"""Labels that are told of."""
_TOO_FAR = 2
"""A label misses its wish where it has this many times too much, or too little."""


@dataclass(frozen=True)
class Deviation:
    """One label: its records, and the parts of them that were wished for and came out."""

    label: str
    records: int
    wished: dict[str, float]
    got: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest difference in any split."""
        return max(abs(self.got[name] - part) for name, part in self.wished.items())

    @property
    def missed(self) -> str | None:
        """The split where it has least of what was wished, or most too much; None if near."""
        far = {
            name: max(self.got[name] / part, part / self.got[name])
            for name, part in self.wished.items()
            if self.got[name]
        }
        name = max(far, key=far.__getitem__, default=None)
        return name if name is not None and far[name] > _TOO_FAR else None


def deviations(
    wish: Mapping[str, float], labels: Mapping[str, Mapping[str, int]]
) -> list[Deviation]:
    """Every label, the one that deviates most first.

    Args:
        wish: of each split, its part; nothing when the data say the splits.
        labels: of each split, the records of each label.
    """
    if len(wish) < 2:  # noqa: PLR2004 (one split gets all of every label)
        return []
    found = []
    for label in sorted(set().union(*labels.values())):
        counts = {name: labels.get(name, {}).get(label, 0) for name in wish}
        total = sum(counts.values())
        if total:
            parts = {name: count / total for name, count in counts.items()}
            found.append(Deviation(label, total, dict(wish), parts))
    return sorted(found, key=lambda one: (-one.worst, -one.records, one.label))
