"""Compute a sample of committed features again by librosa and compare the values."""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.parquet as pq
from audioloom_audio import MfccSettings
from audioloom_manifest import FeaturesManifest, Opened, RecordingsManifest
from audioloom_stage import progress
from audioloom_storage import Location, locate, open_read
from numpy.typing import NDArray

from audioloom_featurizer.extraction.recipe import settings_from_recipe
from audioloom_featurizer.extraction.recording import Extracted, extract_recording
from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.inventory.parquet import Row, inventory_location, read_batches

TOLERANCE = 1e-5
"""How far normalised values may lie from librosa's (SPEC, 4. features)."""

HALF_STEP = 2.0**-11
"""What rounding to float16 adds, relative to the value."""

_COLUMNS = ("path", "window", "channel")


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
    features: Opened[FeaturesManifest], recordings: Opened[RecordingsManifest], sample: int
) -> Comparison:
    """Compute *sample* recordings again by librosa: the smallest by the digest of the path.

    Raises:
        MissingDecoder: librosa is not installed here.
    """
    settings = replace(settings_from_recipe(features.manifest.recipe), engine="librosa")
    source = locate(recordings.manifest.recipe.source)
    chosen = _choose(features, sample)
    rows = _inventory_rows(recordings, set(chosen))
    compared, worst, where = 0, 0.0, ""
    problems = []
    with progress(len(chosen), "comparing", "recordings") as bar:
        for path, windows in bar.over(_stored(features, chosen)):
            try:
                expected = _computed(source, rows[path], settings)
            except _Unreadable as error:
                problems.append(f"{path}: expected to read it again, found {error}")
                continue
            if expected.keys() != windows.keys():
                problems.append(
                    f"{path}: expected {len(expected)} windows by librosa, found {len(windows)}"
                )
                continue
            for place, value in windows.items():
                found = f"{path}, window {place[0]} of channel {place[1]}"
                difference = np.abs(value.astype(np.float64) - expected[place])
                if (difference > _allowed(expected[place], settings)).any():
                    problems.append(f"{found}: {difference.max():.2g} from librosa")
                if difference.max() >= worst:
                    worst, where = float(difference.max()), found
                compared += 1
    return Comparison(len(chosen), compared, worst, where, tuple(problems))


def _allowed(expected: NDArray[np.float64], settings: MfccSettings) -> NDArray[np.float64]:
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


def _inventory_rows(recordings: Opened[RecordingsManifest], paths: set[str]) -> dict[str, Row]:
    rows = {}
    for batch in read_batches(inventory_location(recordings, checked_before=True)):
        for number, path in enumerate(batch.column("path").to_pylist()):
            if path in paths:
                rows[path] = batch.slice(number, 1).to_pylist()[0]
    return rows


ScanLocations = tuple[int, int]


def _stored(
    features: Opened[FeaturesManifest], chosen: dict[str, str]
) -> Iterator[tuple[str, dict[ScanLocations, NDArray[np.floating]]]]:
    feature = features.manifest.recipe.feature
    dtype = np.dtype({"float32": "<f4", "float16": "<f2"}[feature.dtype])
    by_file: dict[str, set[str]] = defaultdict(set)
    for path, file in chosen.items():
        by_file[file].add(path)
    for file, paths in by_file.items():
        found: dict[str, dict[ScanLocations, NDArray[np.floating]]] = defaultdict(dict)
        with open_read(features.folder / file) as stream:
            table = pq.read_table(
                stream,
                columns=[*_COLUMNS, feature.name],
                filters=[("path", "in", paths)],
                use_threads=False,
            )
        for row in table.to_pylist():
            value = np.frombuffer(row[feature.name], dtype)
            found[row["path"]][row["window"], row["channel"]] = value
        yield from sorted(found.items())


class _Unreadable(Exception):
    """The recording has changed or can no longer be read."""


def _computed(
    source: Location, row: Row, settings: MfccSettings
) -> dict[ScanLocations, NDArray[np.float64]]:
    wide = replace(settings, dtype="float32")
    untimed = {**row, "modified_ns": None}  # a copy has a new time: compare only values
    with extract_recording(source, untimed, wide) as outcome:
        if not isinstance(outcome, Extracted):
            raise _Unreadable(f"{outcome.kind}: {outcome.row['message']}")
        places = [(each["window"], each["channel"]) for each in outcome.rows]
        values = [np.frombuffer(value, "<f4").astype(np.float64) for value in outcome.values()]
    return dict(zip(places, values, strict=True))
