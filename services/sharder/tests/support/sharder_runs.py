"""Read what a run of the sharder wrote."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.records.example import Record, decode
from audioloom_manifest.records.tfrecord import read


def committed(out: str) -> Opened[ShardsManifest]:
    """The run whose manifest was printed."""
    return read_manifest(out.strip(), "shards")


def contents(folder: Path) -> dict[str, bytes]:
    """The data files of a run."""
    return {path.name: path.read_bytes() for path in (folder / "shards").iterdir()}


def records_of(opened: Opened[ShardsManifest]) -> dict[str, list[Record]]:
    """All records by split, shard after shard."""
    found: dict[str, list[Record]] = defaultdict(list)
    for entry in sorted(opened.files("shard"), key=lambda one: (one.split, one.shard)):
        with Path(opened.folder.path, entry.path).open("rb") as stream:
            found[str(entry.split)] += [decode(one.payload, "mfcc") for one in read(stream)]
    return found


def edit_manifest(features: Opened, change: Callable[[dict], None]) -> Path:
    path = Path(features.location.path)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    return path


def features_file(features: Opened) -> Path:
    return Path(features.folder.path, features.files("features")[0].path)
