"""A root with a run of each kind, each committed as its stage would commit it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.envelope import FileEntry, Producer, Uncompressed
from audioloom_manifest.kinds import (
    Feature,
    FeaturesRecipe,
    FeaturesStats,
    ModelRef,
    RecordingsRecipe,
    RecordingsStats,
    ShardFeature,
    ShardsRecipe,
    ShardsStats,
    SplitStats,
    TargetStats,
    TrainingRunRecipe,
    TrainingRunStats,
)
from audioloom_manifest.layout import run_folder
from audioloom_manifest.parquet import INVENTORY, LEDGER, features_schema
from audioloom_manifest.publication import Attempt, Plan, commit
from audioloom_manifest.reader import Opened
from audioloom_manifest.records.example import Record, Stored, encode
from audioloom_manifest.records.tfrecord import frame
from audioloom_storage import Location, publish

LABELS = ("calm", "glad")
SHAPE = (2, 3)
FEATURE = Feature(name="mfcc", dtype="float32", shape=SHAPE, sample_rate=8000, parameters={})
HISTORY = ({"epoch": 1, "loss": 2.0, "val_loss": 2.5}, {"epoch": 2, "loss": 1.0, "val_loss": 2.0})
SCORES = {"val": {"accuracy": 0.75, "loss": 0.5, "chance": 0.5}}


def write(folder: Location, role: str, suffix: str, data: bytes, **more: Any) -> FileEntry:
    """A data file of a run, and its entry."""
    sha256 = hashlib.sha256(data).hexdigest()
    path = f"{role}-{sha256[:12]}.{suffix}"
    publish(folder / path, data)
    return FileEntry(path=path, bytes=len(data), sha256=sha256, role=role, **more)


def _commit(
    root: Location, kind: Any, name: str, recipe: Any, stats: Any, *,
    inputs: Sequence[Opened[Any]], files: Mapping[tuple[str, str], bytes] | None = None,
    entries: Sequence[FileEntry] = (), settings: Mapping[str, Any] | None = None,
) -> Opened[Any]:  # fmt: skip
    folder = run_folder(root, kind, name)
    written = [write(folder, *names, data) for names, data in (files or {}).items()]
    references = tuple(each.reference(root) for each in inputs)
    attempt = Attempt(
        Producer(stage="test", version="1.0.0"), host="here", settings=dict(settings or {})
    )
    plan = Plan(kind, name, folder, recipe, references)
    return commit(plan, attempt, [*entries, *written], stats).opened


def parquet(schema: pa.Schema, *rows: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([*rows], schema), out)
    return out.getvalue()


def make_recordings(root: Location, name: str = "voices", **recipe: Any) -> Opened[Any]:
    rows = [
        {"path": f"{label}/{n}.wav", "size": 9, "modified_ns": 1, "label": label, "group": f"g{n}"}
        for n, label in enumerate(LABELS)
    ]
    whole = {"source": "file:///archive", "suffixes": (".wav",), "pattern": None} | recipe
    return _commit(
        *(root, "recordings", name),
        RecordingsRecipe(algorithm=1, listing_sha256="a" * 64, **whole),
        RecordingsStats(
            recordings=2, bytes=18, labelled=2, grouped=2, labels=dict.fromkeys(LABELS, 1)
        ),
        inputs=(),
        files={("inventory", "parquet"): parquet(INVENTORY, *rows)},
    )


def make_features(
    root: Location, source: Opened[Any], name: str = "mfcc", *, refusals: int = 1
) -> Opened[Any]:
    window = {
        "path": "calm/0.wav", "channel": -1, "window": 0, "label": "calm", "group": "g0",
        "start_seconds": 0.0, "valid_samples": 5, "valid_frames": 3, "flags": [],
        "recording_sha256": "b" * 64, "recording_bytes": 9, "recording_seconds": 1.0,
        "recording_rate": 8000, "recording_channels": 1, "recording_format": "WAV",
        "mfcc": np.arange(6, dtype="<f4").tobytes(),
    }  # fmt: skip
    refused = {
        "path": "glad/1.wav", "size": 9, "modified_ns": 1, "class": "empty", "stage": "decode",
        "message": "no samples", "retryable": False,
    }  # fmt: skip
    files = {("features", "parquet"): parquet(features_schema(FEATURE), window)}
    if refusals:
        files["ledger", "parquet"] = parquet(LEDGER, *[refused] * refusals)
    return _commit(
        *(root, "features", name),
        FeaturesRecipe(
            algorithm=1,
            feature=FEATURE,
            engine="numpy",
            windows="first",
            channels="mix",
            unit_bytes=1000,
            unit_recordings=10,
        ),
        FeaturesStats(
            recordings=1 + refusals,
            extracted=1,
            refused=refusals,
            flagged=0,
            windows=1,
            audio_seconds=1.0,
            refusals={"empty": refusals} if refusals else {},
            labels={"calm": 1},
        ),
        inputs=[source],
        files=files,
    )


def values_of(number: int) -> np.ndarray[Any, Any]:
    """The feature of a record."""
    return (np.arange(6, dtype="<f4") + number).reshape(SHAPE)


def make_shards(
    root: Location,
    source: Opened[Any],
    name: str = "demo",
    *,
    records: int = 5,
    shards: int = 2,
    dtype: Any = "float32",
    compression: Any = "none",
    numbers: bool = False,
    form: Any = "tfrecord",
) -> Opened[Any]:
    """Shards of one split, `train`: record n has the values of n, and label n mod 2 or n / 2."""
    folder = run_folder(root, "shards", name)
    stored = Stored("mfcc", "float_list" if dtype == "float32" else "bytes_list")
    entries = []
    for shard in range(shards):
        data, count = b"", 0
        for n in range(shard, records, shards):
            label = (-1, "") if numbers else (n % 2, LABELS[n % 2])
            record = Record(
                channel=-1,
                group="g",
                label_id=label[0],
                label=label[1],
                path=f"{n}.wav",
                target=n / 2 if numbers else None,
                valid_frames=3,
                values=values_of(n).astype(np.dtype(dtype)).tobytes(),
                window=0,
            )
            data, count = data + frame(encode(record, stored)[0]), count + 1
        more: dict[str, Any] = {"records": count, "split": "train", "shard": shard}
        if compression != "none":
            whole = hashlib.sha256(data).hexdigest()
            more["uncompressed"] = Uncompressed(bytes=len(data), sha256=whole)
            data = gzip.compress(data, mtime=0)
        entries.append(write(folder, "shard", "tfrecord", data, **more))
    counts = {label: len(range(n, records, 2)) for n, label in enumerate(LABELS)}
    split = SplitStats(
        records=records,
        shards=shards,
        lanes=1,
        bytes=1,
        recordings=records,
        groups=1,
        labels={} if numbers else counts,
        targets=TargetStats(mean=1.0, variance=1.0) if numbers else None,
    )
    return _commit(
        *(root, "shards", name),
        ShardsRecipe(
            algorithm=1,
            seed=0,
            lanes=1,
            shards=shards,
            shard_bytes=None,
            splits={"train": 1.0},
            ungrouped="refuse",
            labels=None,
            format=form,
            target="number" if numbers else "label",
            compression=compression,
        ),
        ShardsStats(
            feature=ShardFeature(name="mfcc", dtype=dtype, shape=SHAPE),
            labels=() if numbers else LABELS,
            splits={"train": split},
        ),
        inputs=[source],
        entries=entries,
    )


def make_training(
    root: Location,
    source: Opened[Any],
    name: str = "first",
    *,
    seed: int = 0,
    epochs: int = 2,
    keras: Any = "3",
    history: Any = HISTORY,
    scores: Mapping[str, Mapping[str, float]] = SCORES,
    model: bytes = b"{}",
    weights: bytes = b"",
    settings: Mapping[str, Any] | None = None,
) -> Opened[Any]:
    reference = ModelRef(function="model.py:build", sha256="c" * 64, arguments={"units": 8})
    return _commit(
        *(root, "training-run", name),
        TrainingRunRecipe(
            algorithm=1,
            model=reference,
            epochs=epochs,
            batch_size=4,
            seed=seed,
            shuffle_window=1,
            deterministic=True,
            keras=keras,
        ),
        TrainingRunStats(
            steps=4,
            records=10,
            replicas=1,
            parameters=3,
            scores={k: {**v} for k, v in scores.items()},
        ),
        inputs=[source],
        settings=settings,
        files={
            ("history", "json"): json.dumps({"epochs": history}).encode(),
            ("model", "json"): model,
            ("weights", "npz"): weights,
            ("report", "html"): b"<p>report</p>",
            ("events", "tfevents"): b"",
        },
    )


def make_root(root: Location) -> dict[str, Opened[Any]]:
    """A run of each kind, and two trainings on the same shards."""
    recordings = make_recordings(root)
    features = make_features(root, recordings)
    shards = make_shards(root, features)
    first = make_training(root, shards)
    later = ({**HISTORY[0], "loss": 3.0}, *HISTORY[1:])
    second = make_training(root, shards, "second", seed=7, history=later)
    found = (recordings, features, shards, first, second)
    return dict(zip(("recordings", "features", "shards", "first", "second"), found, strict=True))
