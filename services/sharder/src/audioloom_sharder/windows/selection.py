"""The windows of a features file that a run takes: groups, splits, rank hashes and records."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
import pyarrow as pa
from audioloom_manifest.records.example import Record
from numpy.typing import NDArray

from audioloom_sharder.balance.resampling import copies_of_windows
from audioloom_sharder.inputs.rows import Row, group_of, rows_of, take
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.hashing import SplitLookup, hash_each, rank_hashes, split_of
from audioloom_sharder.splits.ratios import NO_SPLIT, training_split
from audioloom_sharder.statistics import is_target


@dataclass(frozen=True)
class Windows:
    """The windows of one features file that a run takes, element by element."""

    rows: list[Row]
    numbers: NDArray[np.intp]
    """Their row numbers in the file."""
    groups: list[str]
    group_hash: NDArray[np.uint64]
    split: NDArray[np.uint8]
    excluded: Counter[str]
    """The number of windows left out, by reason."""
    seed: int

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """The rank hash of each window, shape (windows, 2); computed when first needed."""
        names = ((row.path, row.channel, row.window) for row in self.rows)
        return rank_hashes(names, seed=self.seed)

    def keys(self, rules: Rules) -> NDArray[np.uint64]:
        """Compute what the split of each window is looked up by, where `Rules.needs_lookup`."""
        if rules.split_key == "group":
            return self.group_hash
        return hash_each([row.path for row in self.rows], self.seed)

    def __getitem__(self, which: NDArray[np.bool_]) -> "Windows":
        return Windows(
            list(compress(self.rows, which.tolist())),
            self.numbers[which],
            list(compress(self.groups, which.tolist())),
            self.group_hash[which],
            self.split[which],
            self.excluded,
            self.seed,
        )


def windows_of(
    table: pa.Table | pa.RecordBatch, rules: Rules, lookup: SplitLookup | None = None
) -> Windows:
    """Select the windows that a run takes from the identity columns of a features file.

    *lookup* holds the decided splits of the file, where `Rules.needs_lookup`.
    """
    taken, excluded = take(table, rules)
    # Without the values, because a filter copies the rows that it takes.
    rows = list(rows_of(table.select(list(Row._fields)).filter(pa.array(taken))))
    groups = [group_of(row, rules) for row in rows]
    hashes = hash_each(groups, rules.recipe.seed)
    found = Windows(
        rows=rows,
        numbers=np.flatnonzero(taken),
        groups=groups,
        group_hash=hashes,
        split=split_of(hashes, rules.ratios),
        excluded=excluded,
        seed=rules.recipe.seed,
    )
    if lookup is not None:
        found = replace(found, split=lookup.find(found.keys(rules)))
    if rules.recipe.unassigned == "refuse":
        return found
    assigned = found.split != NO_SPLIT
    if lost := int((~assigned).sum()):
        excluded["no split"] += lost
    return found[assigned]


def resampled_windows(windows: Windows, rules: Rules) -> tuple[list[str], NDArray[np.uint64]]:
    """Return labels and rank hashes of the labelled windows of the training split."""
    mine = _in_training(windows, rules)
    return [row.label or "" for row in compress(windows.rows, mine.tolist())], windows.hashes[mine]


def copies_of(windows: Windows, rules: Rules) -> NDArray[np.int64]:
    """Return the number of records from each window: one, unless the run resamples.

    Windows without a record are added to those left out.
    """
    copies = np.ones(len(windows.rows), np.int64)
    if rules.resampling is not None:
        labels, hashes = resampled_windows(windows, rules)
        copies[_in_training(windows, rules)] = copies_of_windows(labels, hashes, rules.copies)
    if rules.recipe.resample == "under":
        windows.excluded["resampled"] += int((copies == 0).sum())
    return copies


def _in_training(windows: Windows, rules: Rules) -> NDArray[np.bool_]:
    labelled = np.fromiter((bool(row.label) for row in windows.rows), bool, len(windows.rows))
    splits = rules.splits
    return np.asarray(labelled & (windows.split == splits.index(training_split(splits))), bool)


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
