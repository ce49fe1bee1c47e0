"""Statistics of the recordings of a features run, from all columns but the feature.

Memory holds about 40 bytes and the name of the group for each recording, so ten million recordings
take less than a gigabyte.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_manifest import FeaturesManifest, FileEntry, Opened
from audioloom_stage import progress
from audioloom_storage import open_read
from numpy.typing import NDArray

from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.summary.duplicates import Duplicates, Fingerprints, find_duplicates

_ONCE = ("recording_rate", "recording_channels", "recording_format")
_SAID = ("path", "label", "target", "group")
COLUMNS = (*_SAID, "flags", "recording_sha256", "recording_seconds", *_ONCE)

LENGTHS = (1.0, 10.0, 60.0, 600.0, 3600.0)
"""Bounds of the classes of lengths, in seconds."""


@dataclass(frozen=True)
class Lengths:
    """Lengths of recordings, in seconds.

    Attributes:
        shortest, median, longest: of all recordings.
        total: the sum of all lengths.
        counts: recordings shorter than 1 s, 10 s, 1 min, 10 min, 1 h, and longer.
    """

    shortest: float
    median: float
    longest: float
    total: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class RunStatistics:
    """Statistics of the recordings of a run.

    Attributes:
        recordings: number of recordings.
        labels: label to (recordings, windows).
        groups: group to (recordings, windows), the largest first.
        unlabelled: recordings without a label.
        ungrouped: recordings without a group.
        rates: sampling rate in Hz to recordings.
        channels: number of channels to recordings.
        formats: format to recordings.
        flags: flag to recordings.
        lengths: lengths of the recordings.
        duplicates: recordings of equal bytes.
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
    lengths: Lengths
    duplicates: Duplicates


@dataclass
class _Sums:
    counts: dict[str, Counter[Any]] = field(
        default_factory=lambda: {name: Counter() for name in (*_ONCE, "flags")}
    )
    named: dict[str, list[pa.Table]] = field(default_factory=lambda: {"label": [], "group": []})
    seconds: list[NDArray[np.float64]] = field(default_factory=list)
    prints: list[Fingerprints] = field(default_factory=list)


def read_statistics(opened: Opened[FeaturesManifest]) -> RunStatistics:
    """Compute the statistics from all columns but the feature of all features files."""
    entries = opened.files(FEATURES)
    sums = _Sums()
    with progress(len(entries), "reading", "files") as bar:
        for number, entry in enumerate(bar.over(entries)):
            _add(sums, recordings_in(opened, entry), number)
    labels, groups = (_whole(sums.named[name], name) for name in ("label", "group"))
    seconds = np.concatenate([np.empty(0), *sums.seconds])
    return RunStatistics(
        recordings=len(seconds),
        unlabelled=labels.pop(None, (0, 0))[0],
        ungrouped=groups.pop(None, (0, 0))[0],
        labels={name: labels[name] for name in sorted(labels)},
        groups=dict(sorted(groups.items(), key=lambda item: (-item[1][0], item[0]))),
        rates=_sorted(sums.counts["recording_rate"]),
        channels=_sorted(sums.counts["recording_channels"]),
        formats=_sorted(sums.counts["recording_format"]),
        flags=_sorted(sums.counts["flags"]),
        lengths=_lengths(seconds),
        duplicates=find_duplicates(sums.prints, lambda files: _examined(opened, entries, files)),
    )


def recordings_in(opened: Opened[FeaturesManifest], entry: FileEntry) -> pa.Table:
    """Read a features file to one row per recording: `COLUMNS`, number of windows, all flags."""
    with open_read(opened.folder / entry.path) as stream:
        table = pq.read_table(stream, columns=list(COLUMNS), use_threads=False).combine_chunks()
    paths = table.column("path")
    starts = np.flatnonzero(
        np.concatenate([[True], pc.not_equal(paths[1:], paths[:-1]).to_numpy()])
        if len(paths)
        else np.empty(0, bool)
    )
    windows = np.diff(np.append(starts, len(paths)))
    flags: dict[int, set[str]] = {}
    flagged = np.flatnonzero(pc.list_value_length(table.column("flags")).to_numpy())
    for row in flagged.tolist():
        at = int(np.searchsorted(starts, row, side="right")) - 1
        flags.setdefault(at, set()).update(table.column("flags")[row].as_py())
    whole = [sorted(flags.get(at, ())) for at in range(len(starts))]
    firsts = table.take(pa.array(starts)).drop_columns("flags")
    return firsts.append_column("flags", pa.array(whole, pa.list_(pa.string()))).append_column(
        "windows", pa.array(windows)
    )


def _add(sums: _Sums, recordings: pa.Table, number: int) -> None:
    for name in _ONCE:
        sums.counts[name].update(recordings.column(name).to_pylist())
    sums.counts["flags"].update(pc.list_flatten(recordings.column("flags")).to_pylist())
    for name, parts in sums.named.items():
        ones = pa.array(np.ones(len(recordings), np.int64))
        part = recordings.select([name, "windows"]).append_column("recordings", ones)
        parts.append(_grouped(part, name))
    sums.seconds.append(recordings.column("recording_seconds").to_numpy())
    sums.prints.append(Fingerprints.of(recordings, number))


def _grouped(table: pa.Table, name: str) -> pa.Table:
    summed = table.group_by(name).aggregate([("recordings", "sum"), ("windows", "sum")])
    return summed.select([name, "recordings_sum", "windows_sum"]).rename_columns(
        [name, "recordings", "windows"]
    )


def _whole(parts: Sequence[pa.Table], name: str) -> dict[Any, tuple[int, int]]:
    if not parts:
        return {}
    columns = _grouped(pa.concat_tables(parts), name).to_pydict()
    pairs = zip(columns["recordings"], columns["windows"], strict=True)
    return dict(zip(columns[name], pairs, strict=True))


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


def _examined(
    opened: Opened[FeaturesManifest], entries: Sequence[FileEntry], files: Sequence[int]
) -> Iterator[pa.Table]:
    for number in files:
        yield recordings_in(opened, entries[number])


def _sorted(counts: Counter[Any]) -> dict[Any, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
