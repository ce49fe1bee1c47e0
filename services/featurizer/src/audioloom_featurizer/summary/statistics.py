"""Statistics of the recordings of a features run, from all columns but the feature.

Memory holds about 60 bytes for each recording, and each name once, so ten million recordings take
less than a gigabyte.
"""

from collections import Counter
from dataclasses import dataclass
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
from audioloom_featurizer.summary.duplicates import Duplicates, find_duplicates

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
