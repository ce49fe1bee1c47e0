"""Change a committed run so that everything agrees but what is to be found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from audioloom_manifest.checksum import checksums_of
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.reader import Opened
from audioloom_manifest.records.example import Record, Stored, decode, encode
from audioloom_manifest.records.index import dump
from audioloom_manifest.records.tfrecord import frame, read
from manifest_editing import write_manifest


def shards_of(run: Opened, split: str = "train") -> list[Path]:
    """The shards of a split."""
    return [Path(run.folder.path, e.path) for e in run.files("shard") if e.split == split]


def records_of(path: Path) -> list[Record]:
    """The records of a shard."""
    with path.open("rb") as stream:
        return [decode(one.payload, "mfcc") for one in read(stream)]


def rewrite(path: Path, records: list[Record]) -> None:
    """Write a shard and a matching index, checksums of records and all."""
    data, rows = b"", []
    for record in records:
        payload, values = encode(record, Stored("mfcc", "float_list"))
        rows.append((len(data), len(payload) + 16, len(data) + values + 12, record.label_id))
        data += frame(payload)
    path.write_bytes(data)
    index = path.with_name(path.name.replace(".tfrecord", ".idx.npy"))
    index.write_bytes(dump(np.array(rows, dtype=np.int64)))


def relist(run: Opened, **recipe: object) -> None:
    """Make list and manifest agree with the files as they are now: a forger with all the time.

    *recipe* is what the manifest is to say of how it was made.
    """
    folder = Path(run.folder.path)
    entries = []
    for entry in run.files():
        path = folder / entry.path
        if not path.exists():
            entries.append(entry)
            continue
        data = path.read_bytes()
        entries.append(entry.model_copy(update={"bytes": len(data), **checksums_of(data)}))
    _list(run, entries, recipe)


def unlist(run: Opened, role: str) -> None:
    """Make list and manifest say nothing of files of a role, as an older release may have."""
    _list(run, [entry for entry in run.files() if entry.role != role], {})


def _list(run: Opened, entries: list[FileEntry], recipe: dict[str, object]) -> None:
    manifest = run.manifest
    manifest = manifest.model_copy(update={"recipe": manifest.recipe.model_copy(update=recipe)})
    write_manifest(Path(run.folder.path), manifest.to_json(), entries)


def regroup(run: Opened, change: str) -> Path:
    """Make the splits file lie: a group in another split, one lacking, or other records."""
    (entry,) = run.files("splits")
    path = Path(run.folder.path, entry.path)
    table = np.load(path)
    if change == "split":
        table["split"][0] = (table["split"][0] + 1) % len(run.manifest.stats.splits)
    elif change == "lacking":
        table = table[1:]
    else:
        one, other = np.flatnonzero(table["split"] == table["split"][0])[:2]
        table["records"][one] += 1
        table["records"][other] -= 1
    np.save(path, table)
    return path
