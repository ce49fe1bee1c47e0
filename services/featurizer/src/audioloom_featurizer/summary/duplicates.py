"""Recordings of equal bytes, found by 64 bits of their checksums."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Fingerprints:
    """64 bits each of the checksum, label and group of each recording.

    Two checksums collide once in about a hundred thousand runs of ten million recordings.
    """

    content: NDArray[np.uint64]
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    file: int

    @classmethod
    def of(cls, recordings: pa.Table, file: int) -> "Fingerprints":
        """Take the fingerprints of the recordings in the features file number *file*."""
        sums = recordings.column("recording_sha256").to_pylist()
        content = np.array([int(text[:16], 16) for text in sums], np.uint64)
        label = np.array([_known(each) for each in _labels(recordings)], np.int64)
        groups = recordings.column("group").to_pylist()
        return cls(content, label, np.array([_known(each) for each in groups], np.int64), file)


def _labels(recordings: pa.Table) -> list[str | float | None]:
    labels, targets = (recordings.column(name).to_pylist() for name in ("label", "target"))
    pairs = zip(labels, targets, strict=True)
    return [target if label is None else label for label, target in pairs]


def _known(name: str | float | None) -> int:
    return 0 if name is None else hash(name) | 1  # 0: a missing label contradicts no other


def find_duplicates(
    fingerprints: Sequence[Fingerprints], look: Callable[[Sequence[int]], Iterable[pa.Table]]
) -> Duplicates:
    """Find recordings of equal bytes.

    Args:
        fingerprints: the fingerprints of all features files.
        look: reads the recordings of the files with the given numbers, for the examples.
    """
    if not fingerprints:
        return Duplicates(0, 0, 0, 0, ())
    content = np.concatenate([each.content for each in fingerprints])
    order = np.argsort(content, kind="stable")
    content = content[order]
    begins = np.flatnonzero(np.concatenate([[True], content[1:] != content[:-1]]))
    sizes = np.diff(np.append(begins, len(content)))
    several = np.flatnonzero(sizes > 1)
    if not len(several):
        return Duplicates(0, 0, 0, 0, ())
    label = np.concatenate([each.label for each in fingerprints])[order]
    group = np.concatenate([each.group for each in fingerprints])[order]
    conflicting = [_differ(label, begins[at], sizes[at]) for at in several.tolist()]
    across = [_differ(group, begins[at], sizes[at]) for at in several.tolist()]
    file = np.repeat(
        [each.file for each in fingerprints], [len(each.content) for each in fingerprints]
    )[order]
    places = {}
    for at in several[np.argsort(~np.array(conflicting), kind="stable")][:MOST_SETS]:
        members = slice(begins[at], begins[at] + sizes[at])
        places[int(content[begins[at]])] = file[members][_telling(label[members])].tolist()
    return Duplicates(
        sets=len(several),
        recordings=int(sizes[several].sum()),
        conflicting=sum(conflicting),
        across_groups=sum(across),
        examples=_examples(places, look),
    )


def _differ(known: NDArray[np.int64], begin: int, size: int) -> bool:
    some = known[begin : begin + size]
    some = some[some != 0]
    return bool(len(some) and (some != some[0]).any())


def _telling(label: NDArray[np.int64]) -> NDArray[np.intp]:
    _, first = np.unique(label, return_index=True)
    others = np.setdiff1d(np.arange(min(len(label), MOST_OF_A_SET)), first)
    return np.concatenate([first, others])[:MOST_OF_A_SET]


def _examples(
    places: Mapping[int, Sequence[int]], look: Callable[[Sequence[int]], Iterable[pa.Table]]
) -> tuple[tuple[Copy, ...], ...]:
    found: dict[int, list[Copy]] = defaultdict(list)
    for table in look(sorted({number for some in places.values() for number in some})):
        columns = [table.column(name).to_pylist() for name in ("recording_sha256", "path", "group")]
        for sha256, path, group, label in zip(*columns, _labels(table), strict=True):
            if (content := int(sha256[:16], 16)) in places:
                found[content].append(Copy(path, label, group))
    return tuple(tuple(_few(found[content])) for content in places)


def _few(copies: Sequence[Copy]) -> list[Copy]:
    ordered = sorted(copies, key=lambda copy: copy.path)
    one_each = {copy.label: copy for copy in reversed(ordered)}
    firsts = list(one_each.values())
    chosen = [*firsts, *(copy for copy in ordered if copy not in firsts)][:MOST_OF_A_SET]
    return sorted(chosen, key=lambda copy: copy.path)
