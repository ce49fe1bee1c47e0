"""Rank the windows of one range of hashes, over all features files; count groups on the way.

The ranges are disjoint and in order, so the rank of a window is the number of windows of its split
in lower ranges plus its place within its range. Memory holds one range, whatever the total.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Windows in a range: 21 bytes each in a scan, about 100 while they are sorted.
RANGE_RECORDS = 4 << 20


Duplicate = tuple[tuple[int, int], tuple[int, int]]
"""Two windows with equal keys, each as (number of the file, row in the file)."""


@dataclass(frozen=True)
class DistinctCounts:
    """Distinct groups and recordings of a range by split number, and two unusual counts."""

    groups: list[int]
    recordings: list[int]
    largest_group: int
    """Windows of the largest group."""
    spread: int
    """Contents (equal recordings) that lie in more than one split."""


def ranges_for(records: int) -> int:
    """Return the number of ranges for *records*."""
    return -(-records // RANGE_RECORDS)


def range_starts(hashes: NDArray[np.uint64], ranges: int) -> list[int]:
    """Find the start of each range in ascending *hashes*; the last item is their number."""
    edges = [-(-(number << 64) // ranges) for number in range(1, ranges)]
    inner = np.searchsorted(hashes, np.array(edges, dtype=np.uint64)).tolist()
    return [0, *inner, len(hashes)]


def ranks(
    parts: Sequence[NDArray[np.void]], before: Sequence[int]
) -> tuple[list[NDArray[np.int64]], Duplicate | None]:
    """Rank every window of one range: the slices of all files' section "records".

    *before* has the windows of each split in all lower ranges. Return the ranks, part by part, and
    the first two windows with the same key if there are any.
    """
    whole = np.concatenate(parts)
    source = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.lexsort((whole["low"], whole["high"]))
    ordered = whole[order]
    same = np.flatnonzero(
        (ordered["high"][1:] == ordered["high"][:-1])
        & (ordered["low"][1:] == ordered["low"][:-1])
        # Copies of one row are no duplicates.
        & ((source[order][1:] != source[order][:-1]) | (ordered["row"][1:] != ordered["row"][:-1]))
    )
    duplicate = None
    if len(same):
        pair = [order[same[0]], order[same[0] + 1]]
        first, second = sorted((int(source[one]), int(whole["row"][one])) for one in pair)
        duplicate = first, second
    found = np.empty(len(whole), dtype=np.int64)
    for split, start in enumerate(before):
        mine = order[ordered["split"] == split]
        found[mine] = start + np.arange(len(mine))
    ends = np.cumsum([len(part) for part in parts])
    return np.split(found, ends[:-1]), duplicate


def count_distinct(
    groups: Sequence[NDArray[np.void]],
    recordings: Sequence[NDArray[np.void]],
    contents: Sequence[NDArray[np.void]],
    splits: int,
) -> DistinctCounts:
    """Count groups, recordings and contents in one range, over all files."""
    group = np.concatenate(groups)
    _, first, inverse = np.unique(group["group"], return_index=True, return_inverse=True)
    sizes = np.bincount(inverse, weights=group["records"]) if len(group) else np.zeros(1)
    content = np.unique(np.concatenate(contents))
    _, often = np.unique(content["high"], return_counts=True)
    return DistinctCounts(
        groups=_by_split(group["split"][first], splits),
        recordings=_by_split(np.unique(np.concatenate(recordings))["split"], splits),
        largest_group=int(sizes.max()),
        spread=int((often > 1).sum()),
    )


def sum_counts(counted: Sequence[DistinctCounts]) -> DistinctCounts:
    """Add up the counts of all ranges."""
    return DistinctCounts(
        groups=np.sum([one.groups for one in counted], axis=0).tolist(),
        recordings=np.sum([one.recordings for one in counted], axis=0).tolist(),
        largest_group=max(one.largest_group for one in counted),
        spread=sum(one.spread for one in counted),
    )


def _by_split(split: NDArray[np.uint8], splits: int) -> list[int]:
    return [int(count) for count in np.bincount(split, minlength=splits)]
