"""How a run decides its splits: by hash and ratio, a pattern, a table, or an earlier run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from audioloom_sharder.inputs.window import Row, recording_name
from audioloom_sharder.splits.ratios import Share


@dataclass(frozen=True)
class SplitPolicy:
    """What decides the split of a group or recording."""

    seed: int
    shares: tuple[Share, ...]
    ungrouped: Literal["refuse", "by-recording"]
    stratify: bool = False
    split_pattern: str | None = None
    """What says the split of a path, in place of the shares."""
    split_table: str | None = None
    """The SHA-256 of the table that says it."""
    split_key: Literal["group", "recording"] = "group"
    """What splits are looked up by, where the hash alone does not say them."""
    unassigned: Literal["refuse", "drop"] = "refuse"
    kept_seed: int | None = None
    """The seed of the run whose splits are kept."""
    named: tuple[str, ...] = ()
    """The splits that a pattern or a table names, once that is known."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits; a split's number is its place here."""
        return self.named or tuple(share.split for share in self.shares)

    @property
    def said(self) -> bool:
        """Whether a pattern or a table says the splits."""
        return self.split_pattern is not None or self.split_table is not None

    @property
    def looked_up(self) -> bool:
        """Whether splits are more than a function of the group and the shares."""
        return self.said or self.stratify or self.kept_seed is not None


def group_of(row: Row, policy: SplitPolicy) -> str:
    """The group that decides the row's split; "" where it has none and none is made up."""
    if row.group:
        return row.group
    return recording_name(row) if policy.ungrouped == "by-recording" else ""
