"""The split policy of a run: hash and ratio, a pattern, a table, or a previous run."""

from dataclasses import dataclass
from typing import Literal

from audioloom_sharder.inputs.window import Row, recording_name
from audioloom_sharder.splits.ratios import SplitRatio


@dataclass(frozen=True)
class SplitPolicy:
    """The settings that decide the split of a group or recording."""

    seed: int
    ratios: tuple[SplitRatio, ...]
    ungrouped: Literal["refuse", "by-recording"]
    stratify: bool = False
    split_pattern: str | None = None
    """The regular expression that finds the split in a path, in place of ratios."""
    split_table: str | None = None
    """The SHA-256 of the split table, in place of ratios."""
    split_key: Literal["group", "recording"] = "group"
    """What splits are looked up by, where `needs_lookup`."""
    unassigned: Literal["refuse", "drop"] = "refuse"
    previous_seed: int | None = None
    """The seed of the previous run, where there is one."""
    data_splits: tuple[str, ...] = ()
    """The splits that a pattern or a table names, once that is known."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in the order of their numbers."""
        return self.data_splits or tuple(ratio.split for ratio in self.ratios)

    @property
    def from_data(self) -> bool:
        """True if a pattern or a table names the splits."""
        return self.split_pattern is not None or self.split_table is not None

    @property
    def needs_lookup(self) -> bool:
        """True if splits depend on more than the group and the ratios."""
        return self.from_data or self.stratify or self.previous_seed is not None


def group_of(row: Row, policy: SplitPolicy) -> str:
    """Return the group that decides the split of a row; "" for a row without a group."""
    if row.group:
        return row.group
    return recording_name(row) if policy.ungrouped == "by-recording" else ""
