"""Assign whole groups to splits so that every label comes near the split ratios.

After Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data" (2011): a group
belongs to the stratum of its rarest label. Strata go from the rarest label to the commonest, larger
groups first, each to the split that needs most of that label for its size. Later strata make up for
what earlier strata could not divide evenly, by half a group at most: else a thousand labels of two
groups each would leave the small splits empty. The other labels of a group count in the same way.

All arithmetic is in whole numbers, so that no machine rounds otherwise.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.splits.hashing import run_starts
from audioloom_sharder.splits.ratios import NO_SPLIT

_ONE = 1 << 28
"""A record, in the unit that needs are counted in: 2^34 records fit into an int64."""
_AT_ONCE = 1 << 20
"""Groups that are turned into Python's own numbers at a time: see `_strata`."""


def stratify(
    groups: NDArray[np.uint64],
    labels: NDArray[np.uint64],
    records: NDArray[np.int64],
    ratios: Sequence[Fraction],
    pinned: NDArray[np.uint8],
) -> NDArray[np.uint8]:
    """Assign each group a split number.

    Args:
        groups: hash of the group, one for each (group, label), ascending: shape (rows,).
        labels: hash of the label, ascending within a group: shape (rows,).
        records: the number of the group's records with the label: shape (rows,).
        ratios: the requested ratios.
        pinned: the split number of each distinct group in order, or `NO_SPLIT`.
    """
    found = pinned.copy()
    if not len(groups):
        return found
    first = run_starts(groups)
    ends = np.r_[first[1:], len(groups)].astype(np.int64)
    group = np.repeat(np.arange(len(first), dtype=np.int32), ends - first)
    names, label = np.unique(labels, return_inverse=True)
    totals = np.zeros(len(names), np.int64)
    np.add.at(totals, label, records)
    parts = _scaled(ratios)
    needs = totals[:, None] * np.array(parts, np.int64)
    bound = pinned[group] != NO_SPLIT
    np.subtract.at(needs, (label[bound], pinned[group][bound]), records[bound] * _ONE)
    order = np.lexsort((names, totals))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    chosen = _in_order(groups, group, rank[label], records, first, pinned)
    carried = [0] * len(ratios)
    done = 0
    for part in _strata(chosen, rank[label[chosen]]):
        mine = int(rank[label[part[0]]])
        for finished in order[done:mine]:
            carried = [a + b for a, b in zip(carried, needs[finished].tolist(), strict=True)]
        done = mine
        need = needs[order[mine]].tolist()
        sizes = records[part]
        edges = np.flatnonzero(np.r_[True, sizes[1:] != sizes[:-1], True]).tolist()
        for begin, end in pairwise(edges):
            rows, size = part[begin:end], int(sizes[begin])
            own = group[rows]
            if (ends[own] - first[own] == 1).all():
                found[own] = _distribute(need, carried, parts, size, len(rows))
                continue
            for row, one in zip(rows.tolist(), own.tolist(), strict=True):
                others = [at for at in range(int(first[one]), int(ends[one])) if at != row]
                lacking = carried
                for at in others:
                    drift = _drift(needs[label[at]].tolist(), parts)
                    lacking = [a + b for a, b in zip(lacking, drift, strict=True)]
                (split,) = _distribute(need, lacking, parts, size, 1)
                found[one] = split
                for at in others:
                    needs[label[at], split] -= int(records[at]) * _ONE
        needs[order[mine]] = need
    return found


def _in_order(
    groups: NDArray[np.uint64],
    group: NDArray[np.int32],
    rank: NDArray[np.int32],
    records: NDArray[np.int64],
    first: NDArray[np.intp],
    pinned: NDArray[np.uint8],
) -> NDArray[np.intp]:
    """Order the free groups by stratum, larger groups first; return rows of the rarest labels."""
    chosen = np.lexsort((rank, group))[first][pinned == NO_SPLIT]
    sizes = np.add.reduceat(records, first)[group[chosen]]
    order = np.lexsort((groups[chosen], -sizes, -records[chosen], rank[chosen]))
    return np.asarray(chosen[order], np.intp)


def _strata(chosen: NDArray[np.intp], stratum: NDArray[np.int32]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of each stratum, at most a million at a time: they become Python numbers."""
    edges: list[int] = []
    if len(chosen):
        edges = np.flatnonzero(np.r_[True, stratum[1:] != stratum[:-1], True]).tolist()
    for begin, end in pairwise(edges):
        for start in range(begin, end, _AT_ONCE):
            yield chosen[start : min(start + _AT_ONCE, end)]


def _distribute(
    need: list[int], lacking: Sequence[int], parts: Sequence[int], size: int, count: int
) -> list[int]:
    """Distribute *count* groups of *size* records, one after another.

    Args:
        need: the records of the label that each split needs; updated in place.
        lacking: the records of other labels that each split lacks, up to half a group.
        parts: the ratios, in units of 2^-28.
        size: records of a group.
        count: number of groups.
    """
    step = size * _ONE
    half = step // 2
    extra = [max(-half, min(half, one)) for one in lacking]
    # The split that needs half the group most, relative to its ratio: Sainte-Laguë's rule for
    # seats of parties. Python rounds the quotient of whole numbers correctly.
    left = [a + b - half for a, b in zip(need, extra, strict=True)]
    score = [a / part for a, part in zip(left, parts, strict=True)]
    taken = []
    for _ in range(count):
        split = score.index(max(score))
        left[split] -= step
        score[split] = left[split] / parts[split]
        taken.append(split)
    need[:] = [a - b + half for a, b in zip(left, extra, strict=True)]
    return taken


def _drift(need: Sequence[int], parts: Sequence[int]) -> list[int]:
    """Compute each split's shortfall of a label if the ratios divided the rest."""
    left = sum(need) // _ONE
    return [one - part * left for one, part in zip(need, parts, strict=True)]


def _scaled(ratios: Sequence[Fraction]) -> list[int]:
    """The ratios in units of 2^-28; they add up to one, the largest takes the rounding error."""
    parts = [max(1, round(ratio * _ONE)) for ratio in ratios]
    largest = max(range(len(ratios)), key=lambda at: (ratios[at], -at))
    parts[largest] += _ONE - sum(parts)
    return parts
