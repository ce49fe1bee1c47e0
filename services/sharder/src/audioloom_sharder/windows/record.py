"""Make the record of a window, or the reason why there is none."""

from typing import Literal

from audioloom_manifest.records.example import Record

from audioloom_sharder.inputs.window import Row
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.ratios import NO_SPLIT
from audioloom_sharder.statistics.sums import is_target

LONGEST_LABEL = 1000

Fault = Literal["ungrouped", "no split", "unlabelled", "unknown label", "long label", "untargeted"]


def fault_of(row: Row, group: str, split: int, rules: Rules) -> Fault | None:
    """Return the reason why the row of this group and split cannot become a record, or None."""
    if not group and len(rules.splits) > 1:
        return "ungrouped"
    if row.label and rules.vocabulary and row.label not in rules.vocabulary:
        return "unknown label"
    if row.label and len(row.label) > LONGEST_LABEL:
        return "long label"
    if not rules.has_target and not row.label:
        return "unlabelled"
    if rules.has_target and not is_target(row.target):
        return "untargeted"
    return "no split" if split == NO_SPLIT else None


def record_of(
    row: Row, group: str, label_id: int, values: bytes | memoryview, rules: Rules
) -> Record:
    """Make the record of a row without fault."""
    return Record(
        channel=row.channel,
        group=group,
        label=row.label or "",
        label_id=label_id,
        path=row.path,
        target=row.target if rules.has_target and is_target(row.target) else None,
        valid_frames=row.valid_frames,
        values=values,
        window=row.window,
    )
