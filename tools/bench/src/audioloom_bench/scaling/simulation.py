"""A hundred terabytes without a byte of them: the stages' own planning code, and its bounds.

Case A takes the first window of ten million recordings of 10 MB, case C all windows of telephone
speech (8 kHz, 16 bits) of the same bytes. All settings are defaults.
"""

from __future__ import annotations

import math
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from audioloom_audio import ExtractionSettings
from audioloom_featurizer import capacity as featurizer
from audioloom_featurizer.extraction.partition import default_bounds, partition
from audioloom_featurizer.extraction.unit import MOST_FILE_BYTES, UnitContext, extract_unit
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.parquet import INVENTORY, feature_bytes
from audioloom_runs.capacity import hours_of
from audioloom_sharder import capacity as sharder
from audioloom_sharder.commands.plan import expected
from audioloom_sharder.recipe import request_run
from audioloom_sharder.settings import RunSettings
from audioloom_storage import Location, locate
from audioloom_trainer import capacity as trainer

from audioloom_bench.made_features import FEATURE, commit_features

RECORDINGS, RECORDING_BYTES = 10**7, 10**7
IN_FOLDER, CLASSES = 1000, 8
"""Recordings in a folder, and labels: what people have."""
WORKERS, EPOCHS = 64, 20
"""Of a training that keeps no copy from one epoch to the next."""
OPENS, HOURS, DRIVER = "opens of the sharder", "hours of a NameNode", "bytes of the largest driver"
CLOSURE, FOLDER = "bytes of the largest closure", "entries of the largest folder"
_ROWS = 100_000
_SOURCE = locate("hdfs://namenode/data/recordings")


@dataclass(frozen=True)
class Case:
    """A set of recordings, and the bound of what the sharder may open."""

    name: str
    windows: Literal["first", "all"]
    seconds: float
    """Of a recording."""
    most_opens: int

    @property
    def bounds(self) -> dict[str, float]:
        """What must not be exceeded, by name."""
        return {
            OPENS: self.most_opens,
            HOURS: 1.0,
            DRIVER: 2 * 10**9,
            CLOSURE: 10**6,
            FOLDER: 100_000,
        }


CASES = (Case("A", "first", 312.5, 5 * 10**6), Case("C", "all", 625.0, 2 * 10**8))


@dataclass(frozen=True)
class Figures:
    """What a case takes."""

    files: int
    shards: int
    calls: dict[str, Counter[str]]
    """By command."""
    driver: dict[str, int]
    """Bytes, by stage."""
    closure: dict[str, int]
    """Bytes of the largest task, by stage."""
    folder: int
    """Entries of the largest folder."""

    @property
    def bounded(self) -> dict[str, float]:
        """The figures that have a bound, by name."""
        return {
            OPENS: self.calls["shard"]["open"],
            HOURS: hours_of(sum(self.calls.values(), Counter())),
            DRIVER: max(self.driver.values()),
            CLOSURE: max(self.closure.values()),
            FOLDER: self.folder,
        }


def simulate(case: Case, scale: int = 1) -> Figures:
    """Plan all stages for a case; units are cut from a share of one in *scale* of the rows."""
    settings = ExtractionSettings(windows=case.windows)
    bounds = default_bounds(settings, RECORDINGS, RECORDINGS * RECORDING_BYTES)
    units = [
        unit.recordings
        for unit in partition(
            _inventory(RECORDINGS // scale),
            _SOURCE,
            most_bytes=bounds.bytes,
            most_recordings=bounds.recordings,
        )
    ]
    of_recording = 1
    if case.windows == "all":
        of_recording = math.ceil(case.seconds / settings.window_seconds)
    windows, size = RECORDINGS * of_recording, feature_bytes(FEATURE)
    # As a unit writes them: a file is full after the recording that fills it.
    in_file = math.ceil(MOST_FILE_BYTES / (of_recording * size))
    files = [min(in_file, unit - at) for unit in units for at in range(0, unit, in_file)] * scale
    planned = plan_shards([each * of_recording for each in files])
    stored = (len(files), windows * size)
    shards = planned.layout.shards
    return Figures(
        files=len(files),
        shards=shards,
        calls={
            "scan": featurizer.scan_calls(RECORDINGS, RECORDINGS // IN_FOLDER),
            "run": featurizer.run_calls(RECORDINGS, len(units) * scale, *stored),
            "verify features": featurizer.verify_calls(len(units) * scale, len(files)),
            "shard": sharder.run_calls(planned),
            "verify shards": sharder.verify_calls(planned),
            "train": trainer.run_calls(shards, WORKERS, EPOCHS),
        },
        driver={
            "featurizer": featurizer.driver_bytes(len(units) * scale),
            "sharder": sharder.driver_bytes(planned),
        },
        closure={
            "featurizer": len(pickle.dumps(partial(extract_unit, _context(settings)))),
            "sharder": planned.closure,
        },
        folder=max(len(units) * scale, sharder.largest_folder(planned)),
    )


def plan_shards(windows: Sequence[int]) -> sharder.Planned:
    """Plan the shards of features files with so many windows each, from their manifest."""
    total = sum(windows)
    labels = {f"label {number}": total // CLASSES for number in range(CLASSES)}
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as root:
        entries = partial(_features, windows)
        recordings = min(RECORDINGS, total)
        folder = commit_features(root, "simulation", entries, recordings, total, labels)
        return expected(request_run(RunSettings.model_validate({"features": (folder,)})))


def _features(windows: Sequence[int], _folder: Location) -> Iterator[FileEntry]:
    """The files of a features run, none of which is there."""
    size = feature_bytes(FEATURE)
    for number, records in enumerate(windows):
        yield FileEntry(
            path=f"features/{number:06}.parquet",
            bytes=records * size,
            sha256=f"{number:064x}",
            role="features",
            records=records,
        )


def _inventory(rows: int) -> Iterator[pa.RecordBatch]:
    """Recordings of one size, in the order of their paths."""
    for first in range(0, rows, _ROWS):
        numbers = np.arange(first, min(first + _ROWS, rows))
        columns = {
            "path": [f"speaker-{n // IN_FOLDER:06}/call-{n:09}.wav" for n in numbers.tolist()],
            "size": np.full(len(numbers), RECORDING_BYTES),
            "modified_ns": numbers,
        }
        arrays = [
            pa.array(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(len(numbers), field.type)
            for field in INVENTORY
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=INVENTORY)


def _context(settings: ExtractionSettings) -> UnitContext:
    root = locate("hdfs://namenode/user/somebody/audioloom")
    return UnitContext(
        folder=root / "features/0123456789abcdef",
        inventory=root / "recordings/0123456789abcdef/inventory-0123456789ab.parquet",
        source=_SOURCE,
        feature=FEATURE,
        settings=settings,
        attempt="0" * 32,
        basis="0" * 16,
    )
