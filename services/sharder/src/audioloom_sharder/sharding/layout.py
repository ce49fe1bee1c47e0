"""Decide the shards of each split and the numbers of the labels, before anything is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.reader import MOST_MANIFEST_BYTES

from audioloom_sharder.balance.class_weights import weights_of
from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.assignment import lanes_for, records_in, shards_for
from audioloom_sharder.splits.ratios import training_split
from audioloom_sharder.windows.metadata_scan import SplitCount, Summary

MOST_LABELS = 100_000
#: One task writes several small shards, because a single one is not worth a task.
UNIT_BYTES = 128 << 20
UNIT_SHARDS = 8
#: Each task opens every segment: of many shards it writes more, through the local disk.
UNITS = 1000
MOST_UNIT_BYTES = 12 << 30


@dataclass(kw_only=True)
class SplitLayout(SplitCount):
    """One split: its counts and its shards, numbered in the run from *first*."""

    name: str
    lanes: int
    shards: int
    first: int

    def records_in(self, shard: int) -> int:
        """Count the records of a shard of this split."""
        return records_in(shard, self.shards, self.records)

    def units(self, total: int) -> Iterator[range]:
        """Yield ranges of shards, one range for each task; a run has *total* shards."""
        size = max(1, self.bytes // self.shards)
        small = min(UNIT_SHARDS, UNIT_BYTES // size)
        step = max(1, small, min(-(-total // UNITS), MOST_UNIT_BYTES // size))
        for start in range(0, self.shards, step):
            yield range(start, min(start + step, self.shards))


@dataclass(frozen=True)
class Layout:
    """All splits in the order of their names, and all labels in the order of their ids."""

    splits: tuple[SplitLayout, ...]
    labels: tuple[str, ...]
    class_weights: dict[str, float] | None = None

    @property
    def shards(self) -> int:
        """Shards of all splits."""
        return sum(split.shards for split in self.splits)

    @property
    def labels_of_splits(self) -> dict[str, Mapping[str, int]]:
        """The records of each label, by split."""
        return {split.name: split.labels for split in self.splits}

    @property
    def records(self) -> int:
        """Records of all splits."""
        return sum(split.records for split in self.splits)


def make_layout(summary: Summary, rules: Rules, where: str) -> Layout:
    """Decide the shards of every split and the numbers of the labels.

    Raises:
        BadFeatures: some rows cannot become records, no group falls into a requested split, or the
            labels are too long for a manifest.
        InvalidOption: class weights are requested, but there is no split to train on.
    """
    _check_faults(summary, rules, where)
    if not any(count.records for count in summary.splits.values()):
        raise BadFeatures(
            expected="windows that the filters take",
            found="none: " + ", ".join(f"{n:,} {why}" for why, n in summary.excluded.items()),
            where=where,
            hint="See --only-labels, --without-flags and --min-seconds.",
        )
    if empty := [name for name, count in summary.splits.items() if not count.records]:
        raise BadFeatures(
            f"no group falls into the split {' or '.join(repr(name) for name in empty)}",
            found=", ".join(f"{name} {one.records:,}" for name, one in summary.splits.items()),
            where=where,
            hint="Groups stay whole, and there are too few of them: leave the split out."
            if rules.recipe.stratify
            else "Groups stay whole and a hash draws their split, so few groups may miss a small"
            " one: --stratify fills the splits by their ratios. With fewer groups than that needs,"
            " leave the split out.",
        )
    labels = _vocabulary(summary, rules, where)
    recipe = rules.recipe
    most = max(summary.splits.values(), key=lambda count: count.bytes)
    target = recipe.shard_bytes or max(1, most.bytes // (recipe.shards or 1))
    splits: list[SplitLayout] = []
    first = 0
    for name, count in summary.splits.items():
        lanes = lanes_for(count.records, recipe.lanes)
        shards = shards_for(
            records=count.records,
            size=count.bytes,
            lanes=lanes,
            requested=recipe.shards if count is most else None,
            shard_bytes=target,
        )
        splits.append(
            SplitLayout(name=name, lanes=lanes, shards=shards, first=first, **vars(count))
        )
        first += shards
    layout = Layout(tuple(splits), labels, _weights(summary, rules, labels, where))
    _check_size(layout, where)
    return layout


def _check_size(layout: Layout, where: str) -> None:
    """Raise BadFeatures if the labels alone make the manifest longer than readers accept."""
    listed = [layout.labels, layout.labels_of_splits, layout.class_weights]
    if (size := len(canonical_bytes(listed, indent=2))) > MOST_MANIFEST_BYTES:
        raise BadFeatures(
            expected=f"labels and their counts of at most {MOST_MANIFEST_BYTES:,} bytes in all",
            found=f"{size:,}",
            where=where,
            hint="Labels are classes here, not transcripts: take fewer or shorter ones.",
        )


def _vocabulary(summary: Summary, rules: Rules, where: str) -> tuple[str, ...]:
    if rules.recipe.labels is not None:
        return rules.recipe.labels
    found = set().union(*(count.labels for count in summary.splits.values()))
    if len(found) > MOST_LABELS:
        raise BadFeatures(
            expected=f"at most {MOST_LABELS:,} different labels",
            found=f"{len(found):,}",
            where=where,
            hint="Labels are classes here, not transcripts.",
        )
    return tuple(sorted(found))


def _weights(
    summary: Summary, rules: Rules, labels: Sequence[str], where: str
) -> dict[str, float] | None:
    wanted = rules.recipe.class_weights
    if wanted is None:
        return None
    named = () if isinstance(wanted, str) else wanted
    if unknown := sorted({*named} - {*labels}):
        raise BadFeatures(
            expected=f"labels out of {_shown(labels)}",
            found=f"a class weight for {unknown[0]!r}",
            where=where,
            hint="A label that no window has cannot weigh anything: see --class-weights.",
        )
    counts = summary.splits[training_split(tuple(summary.splits))].labels
    return weights_of(wanted, dict(sorted(counts.items())))


#: Expected, found and hint of the error, by kind of fault.
_FAULTS: dict[str, tuple[str, str, str]] = {
    "no split": (
        "a split for every recording that is taken",
        "none",
        "The pattern or table names none for them: add them, or leave them out with --unassigned"
        " drop.",
    ),
    "ungrouped": (
        "a group (speaker, call, campaign …) for every window, as splits go by group",
        "none",
        "Give groups to the featurizer's scan, or make each recording a group of its own with"
        " --ungrouped by-recording, or ask for one split: --split train=1.",
    ),
    "unlabelled": (
        "a label for every window",
        "none",
        "Give labels to the featurizer's scan, or learn numbers with --target number.",
    ),
    "unknown label": (
        "labels out of {labels}",
        "another label",
        "Add the label to --labels, or leave --labels out to take all, sorted.",
    ),
    "long label": (
        "labels of at most 1000 characters",
        "a longer one",
        "Labels are classes here, not transcripts.",
    ),
    "untargeted": (
        "a finite number as target for every window, also as float32",
        "none",
        "Give targets to the featurizer's scan, or learn classes with --target label.",
    ),
}


def _check_faults(summary: Summary, rules: Rules, where: str) -> None:
    """Raise BadFeatures for the commonest fault of rows that cannot become records."""
    if not summary.faults:
        return
    kind, (count, example) = max(summary.faults.items(), key=lambda item: item[1][0])
    total = sum(one.records for one in summary.splits.values())
    expected, found, hint = _FAULTS[kind]
    raise BadFeatures(
        expected=expected.replace("{labels}", _shown(rules.recipe.labels or ())),
        found=f"{found} in {count:,} of {total:,} windows, the first {example}",
        where=where,
        hint=hint,
    )


def _shown(labels: Sequence[str]) -> str:
    some = ", ".join(labels[:10])
    return some if len(labels) <= 10 else f"{some} … ({len(labels)})"  # noqa: PLR2004
