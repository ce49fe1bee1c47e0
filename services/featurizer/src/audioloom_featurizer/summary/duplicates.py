"""Recordings of equal bytes, found by 64 bits of their checksums.

Two checksums collide once in about a hundred thousand runs of ten million recordings.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

MOST_SETS = 20
MOST_OF_A_SET = 5


@dataclass(frozen=True)
class Copy:
    """One of several recordings of equal bytes."""

    path: str
    label: str | float | None
    group: str | None


@dataclass(frozen=True)
class Duplicates:
    """The duplicates of a run; a set is all recordings of equal bytes, at least two.

    Attributes:
        sets: number of sets.
        recordings: number of recordings in all sets.
        conflicting: sets with different labels or targets, so some of the labels are wrong.
        across_groups: sets in several groups, so perhaps in both train and test.
        examples: some sets, those with conflicting labels first.
    """

    sets: int
    recordings: int
    conflicting: int
    across_groups: int
    examples: tuple[tuple[Copy, ...], ...]


def find_duplicates(recordings: pa.Table, look: Callable[[int], pa.Table]) -> Duplicates:
    """Find recordings of equal bytes.

    Args:
        recordings: the number of the features `file` of each recording, its `row` among those of
            the file, `content` (64 bits of the checksum), label, target and group.
        look: reads the recordings of a file, for the examples.
    """
    times = pc.value_counts(recordings["content"].combine_chunks())
    several = times.field("values").filter(pc.greater(times.field("counts"), 1))
    copies = recordings.filter(pc.is_in(recordings["content"], value_set=several))
    # A missing label contradicts no other.
    kinds = [(name, "count_distinct") for name in ("label", "target", "group")]
    sets = copies.group_by("content", use_threads=False).aggregate(kinds)
    labels = pc.max_element_wise(sets["label_count_distinct"], sets["target_count_distinct"])
    conflicting, across = (pc.greater(each, 1) for each in (labels, sets["group_count_distinct"]))
    order = pc.sort_indices(
        sets.append_column("conflicting", conflicting),
        [("conflicting", "descending"), ("content", "ascending")],
    )
    shown = sets["content"].take(order[:MOST_SETS])
    return Duplicates(
        sets=len(sets),
        recordings=len(copies),
        conflicting=pc.sum(conflicting).as_py() or 0,
        across_groups=pc.sum(across).as_py() or 0,
        examples=_examples([_places(copies, content) for content in shown], look),
    )


def _places(copies: pa.Table, content: pa.Scalar) -> list[tuple[int, int]]:
    """File and row of some recordings of a set, one of each label first."""
    whole = copies.filter(pc.equal(copies["content"], content)).combine_chunks()
    whole = whole.append_column("number", pa.array(range(len(whole))))
    firsts = whole.group_by(["label", "target"], use_threads=False).aggregate([("number", "min")])
    numbers = [*firsts["number_min"].to_pylist(), *range(min(len(whole), MOST_OF_A_SET))]
    some = whole.take([*dict.fromkeys(numbers)][:MOST_OF_A_SET])
    return list(zip(some["file"].to_pylist(), some["row"].to_pylist(), strict=True))


def _examples(
    sets: Sequence[Sequence[tuple[int, int]]], look: Callable[[int], pa.Table]
) -> tuple[tuple[Copy, ...], ...]:
    rows: dict[int, list[int]] = defaultdict(list)
    for file, row in sorted(chain.from_iterable(sets)):
        rows[file].append(row)
    found = {}
    for file, some in rows.items():
        for row, said in zip(some, look(file).take(some).to_pylist(), strict=True):
            label = said["target"] if said["label"] is None else said["label"]
            found[file, row] = Copy(said["path"], label, said["group"])
    return tuple(
        tuple(sorted((found[place] for place in places), key=lambda copy: copy.path))
        for places in sets
    )
