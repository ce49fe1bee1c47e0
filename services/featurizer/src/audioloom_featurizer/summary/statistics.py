"""Statistics of the recordings of a features run, from all columns but the feature.

Memory holds about 60 bytes for each recording, and each name once, so ten million recordings take
less than a gigabyte. Recordings of equal bytes are found by 64 bits of their checksums: two
checksums collide once in about a hundred thousand runs of ten million recordings.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import FeaturesManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.progress_bar import progress
from audioloom_storage import open_read
from numpy.typing import NDArray

from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.streams import equals_previous

_NAMES = ["label", "group", "recording_format"]
_NAME = pa.dictionary(pa.int32(), pa.string())
_SUMMED = pa.schema(
    [
        *((name, _NAME) for name in _NAMES),
        ("target", pa.float64()),
        ("recording_seconds", pa.float64()),
        ("recording_rate", pa.int32()),
        ("recording_channels", pa.int16()),
        ("windows", pa.int32()),
        ("content", pa.uint64()),
        ("file", pa.int32()),
        ("row", pa.int32()),
    ]
)
_READ = (
    *("path", "label", "target", "group", "flags", "valid_frames", "recording_sha256"),
    "recording_seconds",
    *("recording_rate", "recording_channels", "recording_format"),
)

MOST_SETS = 20
MOST_OF_A_SET = 5
LENGTHS = (1.0, 10.0, 60.0, 600.0, 3600.0)
"""Bounds of the classes of lengths, in seconds."""


@dataclass(frozen=True)
class Lengths:
    """Lengths of recordings, in seconds.

    The counts are of recordings shorter than 1 s, 10 s, 1 min, 10 min, 1 h, and longer.
    """

    shortest: float
    median: float
    longest: float
    total: float
    counts: tuple[int, ...]


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
class RunStatistics:
    """Statistics of the recordings of a run.

    Labels and groups are mapped to (recordings, windows), the largest group first; rates in Hz,
    numbers of channels, formats and flags to recordings, the most frequent first. The padding is
    the share of frames after the recorded samples.
    """

    recordings: int
    labels: dict[str, tuple[int, int]]
    groups: dict[str, tuple[int, int]]
    unlabelled: int
    ungrouped: int
    rates: dict[int, int]
    channels: dict[int, int]
    formats: dict[str, int]
    flags: dict[str, int]
    padding: float
    lengths: Lengths
    duplicates: Duplicates


def read_statistics(opened: Opened[FeaturesManifest]) -> RunStatistics:
    """Compute the statistics from all columns but the feature of all features files."""
    entries = opened.files(FEATURES)
    flags: Counter[str] = Counter()
    recorded = 0
    parts = [_SUMMED.empty_table()]
    with progress(len(entries), "reading", "files") as bar:
        for number, entry in enumerate(bar.over(entries)):
            recordings, flagged, valid = _recordings_in(opened, entry)
            flags.update(flagged)
            recorded += valid
            sums = recordings["recording_sha256"].to_pylist()
            more = {
                "content": np.array([int(text[:16], 16) for text in sums], np.uint64),
                "file": np.full(len(recordings), number),
                "row": np.arange(len(recordings)),
            }
            columns = {name: recordings[name] for name in recordings.column_names} | more
            parts.append(pa.Table.from_pydict(columns, schema=_SUMMED))
    whole = pa.concat_tables(parts).unify_dictionaries()
    frames = opened.manifest.stats.windows * opened.manifest.recipe.feature.shape[1]
    labels, groups = _counts(whole, "label"), _counts(whole, "group")
    rates, channels, formats = (
        {name: recordings for name, (recordings, _) in _counts(whole, column).items()}
        for column in ("recording_rate", "recording_channels", "recording_format")
    )
    return RunStatistics(
        recordings=len(whole),
        unlabelled=labels.pop(None, (0, 0))[0],
        ungrouped=groups.pop(None, (0, 0))[0],
        labels={name: labels[name] for name in sorted(labels)},
        groups=groups,
        rates=rates,
        channels=channels,
        formats=formats,
        padding=round(1 - recorded / frames, 4) if frames else 0.0,
        flags=dict(sorted(flags.items(), key=lambda item: (-item[1], item[0]))),
        lengths=_lengths(whole["recording_seconds"].to_numpy()),
        duplicates=find_duplicates(whole, lambda file: _recordings_in(opened, entries[file])[0]),
    )


def _recordings_in(
    opened: Opened[FeaturesManifest], entry: FileEntry
) -> tuple[pa.Table, Counter[str], int]:
    """Read the recordings of a features file with their windows.

    Also count those with each flag, and the frames within the recorded samples.
    """
    with open_read(opened.folder / entry.path) as stream:
        table = pq.read_table(
            stream, columns=list(_READ), read_dictionary=_NAMES, use_threads=False
        ).combine_chunks()
    paths = table["path"].combine_chunks()
    starts = np.flatnonzero(pc.invert(equals_previous(paths, None)))
    windows = np.diff(np.append(starts, len(paths)))
    flags = table["flags"].combine_chunks()
    recording = np.searchsorted(starts, pc.list_parent_indices(flags), side="right")
    pairs = set(zip(recording.tolist(), pc.list_flatten(flags).to_pylist(), strict=True))
    recordings = table.take(starts).append_column("windows", pa.array(windows))
    frames = pc.sum(table["valid_frames"]).as_py() or 0
    return recordings, Counter(flag for _, flag in pairs), frames


def _counts(recordings: pa.Table, name: str) -> dict[Any, tuple[int, int]]:
    """Map each value of a column to (recordings, windows), the most frequent first."""
    summed = recordings.group_by(name, use_threads=False).aggregate(
        [([], "count_all"), ("windows", "sum")]
    )
    columns = (summed[each].to_pylist() for each in (name, "count_all", "windows_sum"))
    found = [(value, (count, windows)) for value, count, windows in zip(*columns, strict=True)]
    return dict(sorted(found, key=lambda item: (-item[1][0], item[0] is None, item[0])))


def _lengths(seconds: NDArray[np.float64]) -> Lengths:
    if not len(seconds):
        return Lengths(0.0, 0.0, 0.0, 0.0, (0,) * (len(LENGTHS) + 1))
    kinds = np.searchsorted(LENGTHS, seconds, side="right")
    counts = np.bincount(kinds, minlength=len(LENGTHS) + 1)
    return Lengths(
        shortest=float(seconds.min()),
        median=float(np.median(seconds)),
        longest=float(seconds.max()),
        total=float(seconds.sum()),
        counts=tuple(counts.tolist()),
    )


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
