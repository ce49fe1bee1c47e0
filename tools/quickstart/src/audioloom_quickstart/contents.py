"""What lies in the data files of a manifest, read without any stage: as the contract says it.

A stage that miscounts would say so in its manifest too, so what has to hold is looked up in the
data itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from audioloom_quickstart.examples import bytes_feature, records
from audioloom_quickstart.programs import read_manifest


def entries(manifest: str, role: str) -> Iterator[dict[str, Any]]:
    """The entries of one role in the files list beside a manifest; `file` is where each lies."""
    folder = Path(manifest).parent
    listed = folder / read_manifest(manifest)["files"]["name"]
    for line in listed.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["role"] == role:
            yield entry | {"file": folder / entry["path"]}


def rows(manifest: str, role: str, *columns: str) -> Iterator[dict[str, Any]]:
    """Some columns of the Parquet files of one role."""
    for entry in entries(manifest, role):
        yield from pq.read_table(entry["file"], columns=list(columns)).to_pylist()


def groups_by_split(manifest: str) -> dict[str, set[str]]:
    """The groups whose records lie in the shards of each split."""
    found: dict[str, set[str]] = {}
    for entry in entries(manifest, "shard"):
        groups = found.setdefault(entry["split"], set())
        data = entry["file"].read_bytes()
        groups.update(bytes_feature(record, "group").decode() for record in records(data))
    return found
