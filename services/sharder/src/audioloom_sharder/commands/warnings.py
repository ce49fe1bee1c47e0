"""Warnings about the shards for the user to read before training; never errors."""

from collections.abc import Iterator

from audioloom_stage.terminal import counted

from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.sharding.ranking import DistinctCounts
from audioloom_sharder.splits.deviation import deviations
from audioloom_sharder.windows.metadata_scan import Summary

_LARGE = 0.5
_UNEVEN = 1.5
"""A split is far from its ratio if it has this many times too much, or too little."""


def warnings_of(
    layout: Layout, rules: Rules, distinct: DistinctCounts, summary: Summary
) -> Iterator[str]:
    """List the omissions and the oddities of the layout, one sentence each."""
    for reason, windows in summary.excluded.items():
        # Zero also deserves a warning: the user may have misspelt a word.
        yield f"{windows:,} windows are left out ({reason})"
    for label in sorted(set(rules.recipe.only_labels or ()) - {*layout.labels}):
        yield f"no window has the label {label!r}"
    lanes = rules.recipe.lanes
    for split in layout.splits:
        if split.lanes < lanes:
            yield (
                f"split {split.name} has only {counted(split.records, 'records')}:"
                f" {counted(split.lanes, 'lanes')} instead of {lanes}, so the number of replicas"
                f" has to divide {split.lanes}"
            )
    if len(layout.splits) > 1:
        if summary.ungrouped:
            yield (
                f"{summary.ungrouped:,} windows without a group were split by recording: a speaker"
                " or a call may lie in two splits"
            )
        if distinct.largest_group > _LARGE * layout.records:
            yield (
                f"one group holds {distinct.largest_group:,} of {layout.records:,} records, and"
                " groups stay whole: the splits are far from the requested ratios"
            )
        if distinct.spread:
            yield (
                f"{distinct.spread:,} recordings occur under several names, in different splits:"
                " give the copies one group"
            )
    yield from _about_labels(layout, rules)
    yield from _about_ratios(layout, rules, sum(distinct.groups))
    if rules.recipe.resample == "over" and rules.copies:
        label, (copies, bound) = max(rules.copies.items(), key=lambda item: item[1])
        most = copies + (bound > 0)
        yield f"windows of the label {label!r} occur up to {most:,} times in the training split"


def _about_labels(layout: Layout, rules: Rules) -> Iterator[str]:
    if rules.has_target:
        return
    if len(layout.labels) == 1:
        yield f"there is only one label, {layout.labels[0]!r}: nothing can be learned from it"
    for split in layout.splits:
        missing = [label for label in layout.labels if label not in split.labels]
        if missing:
            some = ", ".join(map(repr, missing[:5])) + (" …" if len(missing) > 5 else "")  # noqa: PLR2004
            yield f"no record of split {split.name} has the label {some}"


def _about_ratios(layout: Layout, rules: Rules, groups: int) -> Iterator[str]:
    """Say which splits and labels are far from their ratios, and what would help."""
    if rules.recipe.resample != "none":
        return  # train has other records than those that were divided
    ratios = rules.recipe.splits
    sizes = {split.name: {"": split.records} for split in layout.splits}
    off = [name for one in deviations(ratios, sizes) if (name := one.missed(_UNEVEN))]
    for name in off:
        yield (
            f"split {name} has {sizes[name][''] / layout.records:.1%} of the records instead of"
            f" {ratios[name]:.1%}, because groups stay whole"
        )
    found = [] if rules.has_target else deviations(ratios, layout.labels_of_splits)
    far = [one for one in found if one.missed()]
    if far:
        first, name = far[0], str(far[0].missed())
        yield (
            f"{len(far):,} of {len(found):,} labels have less than half or more than twice their"
            f" ratio in a split, such as {first.label!r}: {first.actual[name]:.1%} of it in {name}"
            f" instead of {first.requested[name]:.1%}"
        )
    if (off or far or any(one.lacking for one in found)) and not rules.needs_lookup:
        yield (
            f"there are {groups:,} groups, and a hash draws the split of each: --stratify divides"
            " them by their labels and sizes instead"
        )
