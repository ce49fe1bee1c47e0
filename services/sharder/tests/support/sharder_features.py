"""Make features runs as the featurizer would, without it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.envelope import FileEntry, InputRef, Producer
from audioloom_manifest.identity import run_name
from audioloom_manifest.kinds import Feature, FeaturesRecipe, FeaturesStats
from audioloom_manifest.layout import run_folder
from audioloom_manifest.parquet import feature_bytes, features_schema, features_writer
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_storage import locate, publish

SMALL = (4, 3)
REAL = (40, 313)


@dataclass(frozen=True)
class Window:
    """What tests decide about a row."""

    path: str
    label: str | None = "a"
    group: str | None = "g"
    target: float | None = None
    channel: int = -1
    window: int = 0
    member: str | None = None
    content: str | None = None
    """What the recording's checksum is made from; the path by default."""
    flags: tuple[str, ...] = ()
    seconds: float = 10.0
    """How much of the window is recording."""


def windows(
    recordings: int, *, labels: Sequence[str] = ("a", "b", "c"), groups: int = 40, each: int = 1
) -> list[Window]:
    """*recordings* of *each* windows, labels and groups in turn."""
    return [
        Window(
            path=f"{labels[number % len(labels)]}/{number:05d}.wav",
            label=labels[number % len(labels)],
            group=f"speaker {number % groups}",
            window=window,
        )
        for number in range(recordings)
        for window in range(each)
    ]


def feature_of(
    shape: tuple[int, int] = SMALL, dtype: str = "float32", name: str = "mfcc"
) -> Feature:
    """The feature of a test run."""
    return Feature(
        name=name,
        dtype=dtype,  # type: ignore[arg-type]
        shape=shape,
        sample_rate=16000,
        parameters={"n_fft": 2048},
    )


def values_of(window: Window, feature: Feature) -> np.ndarray:
    """The feature of a window: a function of what it is, so that tests can ask for it again."""
    key = f"{window.path}|{window.member}|{window.channel}|{window.window}".encode()
    seed = int.from_bytes(hashlib.sha256(key).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=feature.shape).astype(f"<{feature.dtype[0]}4"
        if feature.dtype == "float32" else "<f2")  # fmt: skip


def table_of(rows: Sequence[Window], feature: Feature) -> pa.Table:
    """The rows as the features file holds them."""
    count = len(rows)
    columns: dict[str, list[object]] = {
        "path": [row.path for row in rows],
        "member": [row.member for row in rows],
        "channel": [row.channel for row in rows],
        "window": [row.window for row in rows],
        "label": [row.label for row in rows],
        "target": [row.target for row in rows],
        "group": [row.group for row in rows],
        "start_seconds": [row.window * 10.0 for row in rows],
        "valid_samples": [round(16000 * row.seconds) for row in rows],
        "valid_frames": [feature.shape[1]] * count,
        "flags": [list(row.flags) for row in rows],
        "recording_sha256": [_sha256(row.content or row.path) for row in rows],
        "recording_bytes": [320_044] * count,
        "recording_seconds": [10.0] * count,
        "recording_rate": [16000] * count,
        "recording_channels": [1] * count,
        "recording_format": ["WAV PCM_16"] * count,
        feature.name: [values_of(row, feature).tobytes() for row in rows],
    }
    schema = features_schema(feature)
    return pa.table({name: pa.array(columns[name], schema.field(name).type) for name in columns},
                    schema=schema)  # fmt: skip


def make_features(
    root: Path,
    parts: Sequence[Sequence[Window]],
    *,
    feature: Feature | None = None,
    engine: str = "numpy",
    row_group: int = 50,
    source: str = "one",
) -> Opened:
    """Commit a features run under *root*: one features file for each of *parts*."""
    feature = feature or feature_of()
    everything = [row for rows in parts for row in rows]
    return commit_features(
        root,
        (parquet_of(rows, feature, row_group) for rows in parts),
        feature,
        windows=len(everything),
        recordings=len({row.path for row in everything}),
        engine=engine,
        source=source,
    )


def commit_features(
    root: Path,
    files: Iterable[tuple[bytes, int]],
    feature: Feature,
    *,
    windows: int,
    recordings: int,
    source: str = "one",
    **recipe: object,
) -> Opened:
    """Commit a features run of ready files: bytes and rows of each.

    Args:
        root: the root to write under.
        files: made one by one.
        feature: what they hold.
        windows: in all files.
        recordings: in all files.
        source: what it was made from.
        recipe: fields of the recipe that are to be otherwise.
    """
    fields: dict[str, Any] = {
        "algorithm": 1,
        "feature": feature,
        "engine": "numpy",
        "windows": "all",
        "channels": "mix",
        "unit_bytes": 1 << 28,
        "unit_recordings": 1000,
        **recipe,
    }
    made = FeaturesRecipe(**fields)
    reopen_inputs = InputRef(
        kind="recordings",
        name=source,
        location=f"recordings/{source}",
        identity=f"sha256:{_sha256(source)}",
        sha256=_sha256(f"{source} manifest"),
    )
    name = run_name("features", made, [reopen_inputs.identity])
    folder = run_folder(locate(root), "features", name)
    entries = []
    for number, (data, rows) in enumerate(files):
        checksums = checksums_of(data)
        path = f"features/{number:05d}-{checksums['sha256'][:12]}.parquet"
        publish(folder / path, data)
        entries.append(
            FileEntry(path=path, bytes=len(data), role="features", records=rows, **checksums)
        )
    ledger = b"no Parquet, and nobody here reads it"
    publish(folder / "ledger.parquet", ledger)
    entries.append(
        FileEntry(
            path="ledger.parquet",
            bytes=len(ledger),
            sha256=hashlib.sha256(ledger).hexdigest(),
            role="ledger",
            records=0,
        )
    )
    stats = FeaturesStats(
        recordings=recordings,
        extracted=recordings,
        refused=0,
        flagged=0,
        windows=windows,
        audio_seconds=10.0 * windows,
        refusals={},
        labels={},
    )
    plan = Plan("features", name, folder, made, (reopen_inputs,))
    attempt = Attempt(producer=Producer(stage="featurizer", version="0.1.0"), host="here")
    return commit(plan, attempt, entries, stats).opened


def parquet_of(rows: Sequence[Window], feature: Feature, row_group: int = 50) -> tuple[bytes, int]:
    """A features file, and its rows."""
    return parquet_of_table(table_of(rows, feature), feature, row_group)


def parquet_of_table(table: pa.Table, feature: Feature, row_group: int) -> tuple[bytes, int]:
    """The same of a table with all columns, in any order."""
    schema = features_schema(feature)
    sink = io.BytesIO()
    with features_writer(sink, feature) as writer:
        writer.write_table(table.select(schema.names).cast(schema), row_group_size=row_group)
    return sink.getvalue(), table.num_rows


def relabelled(rows: Sequence[Window], at: int, **changes: object) -> list[Window]:
    """The rows with one of them changed."""
    changed = list(rows)
    changed[at] = replace(changed[at], **changes)  # type: ignore[arg-type]
    return changed


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


__all__ = ["REAL", "SMALL", "Window", "feature_bytes", "feature_of", "make_features", "windows"]
