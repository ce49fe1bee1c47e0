"""Compute recordings again by librosa and compare the values with those that are stored."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_audio import ExtractionSettings, normalised, resolve_engine
from audioloom_manifest.kinds import Feature, FeaturesManifest, RecordingsManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.progress_bar import progress
from audioloom_storage import Location, locate, open_read
from numpy.typing import NDArray

from audioloom_featurizer.errors import MissingLibrary
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.extraction.recipe import settings_from_recipe
from audioloom_featurizer.extraction.recording import Refused, extract_recording, translated_errors
from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.inventory.parquet import Row, inventory_location, read_recordings
from audioloom_featurizer.inventory.subset import smallest_digests
from audioloom_featurizer.sandbox.messages import Heartbeat

NORMALISED = 1e-5
"""How far normalised values may lie from librosa's (SPEC 8.6), unless their deviation is small."""

HALF_STEP = 2.0**-11
"""What rounding to float16 adds, relative to the value."""

Place: TypeAlias = tuple[int, int]
"""Window and channel."""


class Stored(NamedTuple):
    """The values of a recording's stored windows, with its row of the inventory."""

    row: Row
    windows: dict[Place, NDArray[np.float64]]


@dataclass
class Comparison:
    """The result of a comparison with librosa.

    Attributes:
        recordings: recordings that were computed again, with so many windows.
        deviation: the largest difference between two values; the window is `where`.
        problems: values outside the contract, as texts.
        unread: recordings that can no longer be read, as texts.
    """

    recordings: int = 0
    windows: int = 0
    deviation: float = 0.0
    where: str = ""
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def need_librosa(where: object) -> None:
    """Raise `MissingLibrary` without librosa, which is only imported when it is used."""
    if find_spec("librosa") is None:
        raise MissingLibrary(
            "librosa is not installed here, so the values cannot be compared with librosa's",
            where=where,
            expected="librosa, which the featurizer depends on",
            found="no such module",
            hint="Install it: pip install librosa.",
        )


@translated_errors()
def compare(
    stored: Iterable[Stored],
    source: Location,
    settings: ExtractionSettings,
    heartbeat: Heartbeat | None = None,
    rows: Sequence[Row] = (),
) -> Comparison:
    """Compare stored windows with those of librosa, which computes the same windows.

    With the settings' `windows` "first", the stored windows are the first ones. With the *rows* of
    all recordings, and these in the order of paths, each container is unpacked once.

    Raises:
        MissingLibrary: librosa is not installed here.
    """
    by_librosa = replace(settings, engine="librosa", dtype="float32", normalise="none")
    resolve_engine(by_librosa)  # imports librosa, which takes seconds, before any recording
    found = Comparison()
    with closing(Members(source, rows, heartbeat)) as members:
        for each in stored:
            _compare_one(each, members, settings, by_librosa, found)
    return found


def compare_features(
    features: Opened[FeaturesManifest],
    recordings: Opened[RecordingsManifest],
    sample: int,
    function: str | None = None,
) -> Comparison:
    """Compare *sample* recordings of a committed run: the smallest by the digest of the path.

    Raises:
        MissingLibrary: librosa is not installed here.
    """
    settings = settings_from_recipe(features.manifest.recipe, function)
    chosen = dict(sorted(smallest_digests(_files_of_paths(features), sample)))
    listed = read_recordings(inventory_location(recordings), chosen)
    # A copy has a new time: compare values.
    rows = [{**row, "modified_ns": None} for batch in listed for row in batch.to_pylist()]
    source = locate(recordings.manifest.recipe.source)
    with progress(len(chosen), "comparing", "recordings") as bar:
        stored = bar.over(_stored(features, rows, chosen))
        return compare(stored, source, settings, rows=rows)


def _files_of_paths(features: Opened[FeaturesManifest]) -> Iterator[tuple[str, str]]:
    """Yield each recording with the features file that holds its windows."""
    for entry in features.files(FEATURES):
        with open_read(features.folder / entry.path) as stream:
            column = pq.ParquetFile(stream).read(columns=["path"], use_threads=False)
        for path in column.column("path").unique().to_pylist():
            yield path, entry.path


def _stored(
    features: Opened[FeaturesManifest],
    rows: Sequence[Row],
    chosen: Mapping[str, str],
) -> Iterator[Stored]:
    by_path = {row["path"]: row for row in rows}
    by_file: dict[str, list[str]] = defaultdict(list)
    for path, file in chosen.items():
        by_file[file].append(path)
    feature = features.manifest.recipe.feature
    for file, paths in by_file.items():
        for path, windows in read_stored(features.folder, file, feature, paths):
            yield Stored(by_path[path], windows)


def _compare_one(
    stored: Stored,
    members: Members,
    settings: ExtractionSettings,
    by_librosa: ExtractionSettings,
    found: Comparison,
) -> None:
    path = stored.row["path"]
    with extract_recording(members, stored.row, by_librosa, whole=False) as outcome:
        if isinstance(outcome, Refused):
            reason = f"{outcome.kind}: {outcome.row['message']}"
            found.unread.append(f"{path}: expected to read it again, found {reason}")
            return
        values = (np.frombuffer(each, "<f4").reshape(settings.shape) for each in outcome.values())
        again = dict(zip(map(_place, outcome.rows), values, strict=True))
    found.recordings += 1
    if again.keys() != stored.windows.keys():
        counts = f"expected {len(again)} windows by librosa, found {len(stored.windows)}"
        found.problems.append(f"{path}: {counts}")
        return
    for (window, channel), value in stored.windows.items():
        where = f"{path}, window {window} of channel {channel}"
        deviation, holds = _deviation(value, again[window, channel], settings)
        found.windows += 1
        if deviation > found.deviation or not found.where:
            found.deviation, found.where = deviation, where
        if not holds:
            found.problems.append(f"{where}: {deviation:.2g} from librosa")


def _deviation(
    value: NDArray[np.float64], raw: NDArray[np.float32], settings: ExtractionSettings
) -> tuple[float, bool]:
    """The largest difference of values from librosa's, and whether it is within the contract."""
    promised = settings.feature.agreement or 0.0
    expected = raw
    if settings.normalise == "window":
        expected, deviation = normalised(raw)
        if not deviation:  # constant but for rounding, whose digits normalisation would enlarge
            return 0.0, True
        promised = max(NORMALISED, promised / deviation)
    wide = expected.ravel().astype(np.float64)
    rounding = HALF_STEP * np.abs(wide) if settings.dtype == "float16" else 0.0
    difference = np.abs(value - wide)
    return float(difference.max()), bool((difference <= promised + rounding).all())


def read_stored(
    folder: Location, file: str, feature: Feature, paths: Iterable[str], *, first: bool = False
) -> Iterator[tuple[str, dict[Place, NDArray[np.float64]]]]:
    """Read the windows of recordings from a features file, in the order of their paths.

    With *first* only the first window of each channel is read.
    """
    wanted = sorted(paths)
    filters: list[tuple[str, str, Any]] = [("path", "in", wanted)]
    if first:
        filters.append(("window", "==", 0))
    columns = ["path", "window", "channel", feature.name]
    with open_read(folder / file) as stream:
        table = pq.read_table(stream, columns=columns, filters=filters, use_threads=False)
    dtype = np.dtype(feature.dtype).newbyteorder("<")
    for path in wanted:
        rows = table.filter(pc.equal(table["path"], path)).to_pylist()
        values = (np.frombuffer(row[feature.name], dtype) for row in rows)
        yield (
            path,
            {_place(row): each.astype(np.float64) for row, each in zip(rows, values, strict=True)},
        )


def _place(row: Row) -> Place:
    return row["window"], row["channel"]
