"""The deviation of each label from the requested split ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audioloom_runs.tables import table

SHOWN = 10
"""Labels that a report shows."""
TOO_FAR = 2
"""A label misses its ratio where it has this many times too much, or too little."""


@dataclass(frozen=True)
class Deviation:
    """One label: its records, and the requested and the actual ratio of each split."""

    label: str
    records: int
    requested: dict[str, float]
    actual: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest difference in any split."""
        return max(abs(self.actual[name] - ratio) for name, ratio in self.requested.items())

    def missed(self, times: float = TOO_FAR) -> str | None:
        """Return the split that has most *times* too much or too little; None if none has."""
        far = {
            name: max(self.actual[name] / ratio, ratio / self.actual[name])
            for name, ratio in self.requested.items()
            if self.actual[name]
        }
        name = max(far, key=far.__getitem__, default=None)
        return name if name is not None and far[name] > times else None

    @property
    def lacking(self) -> bool:
        """Whether a split has no record, although its ratio is that of at least one."""
        return any(
            not self.actual[name] and ratio * self.records >= 1
            for name, ratio in self.requested.items()
        )


def deviations(
    ratios: Mapping[str, float], labels: Mapping[str, Mapping[str, int]]
) -> list[Deviation]:
    """Compute the deviations of all *labels* of each split, the largest first.

    There are no *ratios*, and no deviations, if the data name the splits.
    """
    if len(ratios) < 2:  # noqa: PLR2004 (one split gets all of every label)
        return []
    found = []
    for label in sorted(set().union(*labels.values())):
        counts = {name: labels.get(name, {}).get(label, 0) for name in ratios}
        total = sum(counts.values())
        if total:
            actual = {name: count / total for name, count in counts.items()}
            found.append(Deviation(label, total, dict(ratios), actual))
    return sorted(found, key=lambda one: (-one.worst, -one.records, one.label))


def deviations_text(found: Sequence[Deviation]) -> str:
    """List the labels furthest from the requested ratios; empty without ratios."""
    if not found:
        return ""
    ratios = found[0].requested
    head = ("label", "records", *(f"{name} ({ratio:.1%})" for name, ratio in ratios.items()))
    rows = [
        (one.label, f"{one.records:,}", *(f"{one.actual[name]:.1%}" for name in ratios))
        for one in found[:SHOWN]
    ]
    return f"labels furthest from the requested split\n{table(head, rows)}"
