"""Compute a sample of committed features again by librosa and compare the values."""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from audioloom_audio import ExtractionSettings
from audioloom_manifest.kinds import FeaturesManifest, RecordingsManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.progress_bar import progress
from audioloom_storage import locate, open_read
from numpy.typing import NDArray

from audioloom_featurizer.extraction.recipe import settings_from_recipe
from audioloom_featurizer.extraction.recording import Refused, extract_recording
from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.inventory.parquet import Row, inventory_location, read_recordings

TOLERANCE = 1e-5
"""How far normalised values may lie from librosa's (SPEC, 4. features)."""

HALF_STEP = 2.0**-11
"""What rounding to float16 adds, relative to the value."""

Place: TypeAlias = tuple[int, int]
"""Window and channel."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison with librosa.

    Attributes:
        recordings: how many recordings were computed again.
        windows: number of windows of these recordings.
        deviation: the largest difference between two values.
        where: the window that has the largest difference.
        problems: texts: values outside the contract, recordings that can no longer be read.
    """

    recordings: int
    windows: int
    deviation: float
    where: str
    problems: tuple[str, ...]


def compare_values(
    features: Opened[FeaturesManifest],
    recordings: Opened[RecordingsManifest],
    sample: int,
    function: str | None = None,
) -> Comparison:
    """Compute *sample* recordings again by librosa: the smallest by the digest of the path.

    Raises:
        MissingDecoder: librosa is not installed here.
    """
    settings = settings_from_recipe(features.manifest.recipe, function)
    by_librosa = replace(settings, engine="librosa", dtype="float32")
    source = locate(recordings.manifest.recipe.source)
    chosen = _choose(features, sample)
    listed = read_recordings(inventory_location(recordings), chosen)
    rows = {row["path"]: row for batch in listed for row in batch.to_pylist()}
    compared, worst, where = 0, 0.0, ""
    problems = []
    with progress(len(chosen), "comparing", "recordings") as bar:
        for path, windows in bar.over(_stored(features, chosen)):
            untimed = {**rows[path], "modified_ns": None}  # a copy has a new time: compare values
            with extract_recording(source, untimed, by_librosa) as outcome:
                if isinstance(outcome, Refused):
                    found = f"{outcome.kind}: {outcome.row['message']}"
                    problems.append(f"{path}: expected to read it again, found {found}")
                    continue
                expected = _by_place(outcome.rows, outcome.values(), np.dtype("<f4"))
            if expected.keys() != windows.keys():
                problems.append(
                    f"{path}: expected {len(expected)} windows by librosa, found {len(windows)}"
                )
                continue
            for place, value in windows.items():
                found = f"{path}, window {place[0]} of channel {place[1]}"
                difference = np.abs(value - expected[place])
                if (difference > _allowed(expected[place], settings)).any():
                    problems.append(f"{found}: {difference.max():.2g} from librosa")
                if difference.max() >= worst:
                    worst, where = float(difference.max()), found
                compared += 1
    return Comparison(len(chosen), compared, worst, where, tuple(problems))


def _allowed(expected: NDArray[np.float64], settings: ExtractionSettings) -> NDArray[np.float64]:
    rounding = HALF_STEP * np.abs(expected) if settings.dtype == "float16" else 0.0
    return np.asarray(TOLERANCE + rounding)


def _choose(features: Opened[FeaturesManifest], sample: int) -> dict[str, str]:
    """Choose the sample: paths, each with the features file that holds its windows."""

    def candidates() -> Iterator[tuple[bytes, str, str]]:
        for entry in features.files(FEATURES):
            with open_read(features.folder / entry.path) as stream:
                column = pq.ParquetFile(stream).read(columns=["path"], use_threads=False)
            for path in column.column("path").unique().to_pylist():
                yield hashlib.sha256(path.encode()).digest(), path, entry.path

    return {path: file for _, path, file in heapq.nsmallest(sample, candidates())}


def _stored(
    features: Opened[FeaturesManifest], chosen: dict[str, str]
) -> Iterator[tuple[str, dict[Place, NDArray[np.float64]]]]:
    feature = features.manifest.recipe.feature
    dtype = np.dtype(feature.dtype).newbyteorder("<")
    by_file: dict[str, list[str]] = defaultdict(list)
    for path, file in chosen.items():
        by_file[file].append(path)
    for file, paths in by_file.items():
        with open_read(features.folder / file) as stream:
            table = pq.read_table(
                stream,
                columns=["path", "window", "channel", feature.name],
                filters=[("path", "in", paths)],
                use_threads=False,
            )
        for path in sorted(paths):
            rows = table.filter(pc.equal(table["path"], path)).to_pylist()
            yield path, _by_place(rows, (row[feature.name] for row in rows), dtype)


def _by_place(
    rows: Sequence[Row], values: Iterable[bytes], dtype: np.dtype[Any]
) -> dict[Place, NDArray[np.float64]]:
    return {
        (row["window"], row["channel"]): np.frombuffer(value, dtype).astype(np.float64)
        for row, value in zip(rows, values, strict=True)
    }
