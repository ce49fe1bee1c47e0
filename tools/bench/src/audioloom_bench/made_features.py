"""Features to measure on: a committed run of random windows, as the featurizer writes them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.envelope import FileEntry, InputRef, Producer
from audioloom_manifest.kinds import Feature, FeaturesRecipe, FeaturesStats
from audioloom_manifest.parquet import features_rows_per_group, features_schema, features_writer
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_storage import Location, locate, publish

SHAPE, CLASSES, GROUPS = (40, 313), 8, 200
FEATURE = Feature(name="mfcc", dtype="float32", shape=SHAPE, sample_rate=16_000, parameters={})


def made_features(root: str | Path, rows: int, files: int) -> str:
    """Commit *rows* windows of float32 in *files* files below *root*; answer the run's folder."""
    parts = [range(rows * at // files, rows * (at + 1) // files) for at in range(files)]
    entries = partial(_published_parts, parts)
    return commit_features(root, f"{rows} {files}", entries, rows, rows, {})


def commit_features(
    root: str | Path,
    source: str,
    entries: Callable[[Location], Iterable[FileEntry]],
    recordings: int,
    windows: int,
    labels: dict[str, int],
) -> str:
    """Commit features below *root*; answer the run's folder.

    Args:
        root: to write under.
        source: what they were made from, in the name of the run.
        entries: returns the files of a folder.
        recordings: their number.
        windows: of all files.
        labels: windows of each label.
    """
    recipe = FeaturesRecipe(
        algorithm=1,
        feature=FEATURE,
        engine="numpy",
        windows="all",
        channels="mix",
        unit_bytes=1 << 28,
        unit_recordings=1000,
        headerless=None,
    )
    digest = hashlib.sha256(source.encode()).hexdigest()
    listed = InputRef(
        kind="recordings",
        name="made",
        location="recordings/made",
        identity=f"sha256:{digest}",
        sha256=digest,
    )
    plan = Plan.of("features", recipe, (listed,), locate(root), None)
    stats = FeaturesStats(
        recordings=recordings,
        extracted=recordings,
        refused=0,
        flagged=0,
        windows=windows,
        audio_seconds=10.0 * windows,
        refusals={},
        labels=labels,
    )
    attempt = Attempt(producer=Producer(stage="featurizer", version="0.1.0"), host="bench")
    commit(plan, attempt, [*entries(plan.folder)], stats)
    return str(plan.folder)


def _published_parts(parts: Sequence[range], folder: Location) -> Iterator[FileEntry]:
    for number, part in enumerate(parts):
        path = f"features/{number:05}.parquet"
        yield _published(folder, path, _parquet(part), "features", len(part))
    yield _published(folder, "ledger.parquet", b"nobody reads it here", "ledger", 0)


def _published(folder: Location, path: str, data: bytes, role: str, records: int) -> FileEntry:
    publish(folder / path, data)
    return FileEntry(path=path, bytes=len(data), role=role, records=records, **checksums_of(data))


def _parquet(rows: range) -> bytes:
    """A features file: one window a recording, labels and groups in turn."""
    schema, count = features_schema(FEATURE), len(rows)
    values = np.random.default_rng(rows.start).standard_normal((count, *SHAPE), dtype=np.float32)
    columns: dict[str, object] = {
        "path": [f"calls/{number:07}.wav" for number in rows],
        "member": [None] * count,
        "channel": [-1] * count,
        "window": [0] * count,
        "label": [f"class{number % CLASSES}" for number in rows],
        "target": [None] * count,
        "group": [f"speaker {number % GROUPS}" for number in rows],
        "start_seconds": [0.0] * count,
        "valid_samples": [160_000] * count,
        "valid_frames": [SHAPE[1]] * count,
        "flags": [[]] * count,
        "recording_sha256": [hashlib.sha256(str(number).encode()).hexdigest() for number in rows],
        "recording_bytes": [320_044] * count,
        "recording_seconds": [10.0] * count,
        "recording_rate": [16_000] * count,
        "recording_channels": [1] * count,
        "recording_format": ["WAV PCM_16"] * count,
        FEATURE.name: [window.tobytes() for window in values],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    sink = io.BytesIO()
    with features_writer(sink, FEATURE) as writer:
        table = pa.Table.from_arrays(arrays, schema=schema)
        writer.write_table(table, row_group_size=features_rows_per_group(FEATURE))
    return sink.getvalue()
