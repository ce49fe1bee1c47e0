"""The files of a finished run, each named by its content, and their entries in the manifest.

Except in the derived files (the report, the exported model), nothing depends on when or where the
run was made. So a run that is deleted and made again has the same files and the same identity.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np
from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.envelope import FileEntry
from audioloom_storage import AlreadyExists, Location, publish
from numpy.typing import NDArray

from audioloom_trainer.models.source import ModelSource
from audioloom_trainer.runs.npz import dump_arrays


def write_results(
    folder: Location,
    *,
    weights: Mapping[str, NDArray[np.generic]],
    config: dict[str, Any],
    history: Sequence[Mapping[str, float]],
    evaluation: dict[str, Any],
) -> list[FileEntry]:
    """Write the files into the run folder, and keep the files of an earlier attempt unchanged.

    The weights are in the model's order; the configuration is Keras's, without weights.
    """
    contents = {
        "weights": ("npz", dump_arrays(weights)),
        "model": ("json", _json(config)),
        "history": ("json", _json({"epochs": history})),
        "evaluation": ("json", _json(evaluation)),
    }
    return [
        write_file(folder, entry_of("model/", role, suffix, data), data)
        for role, (suffix, data) in contents.items()
    ]


def write_sources(folder: Location, *sources: ModelSource) -> list[FileEntry]:
    """Write the files of the user's functions into the run folder, so that they are not lost.

    Nothing runs them from there unless a user names them by `--model`.
    """
    contents = {
        f"source/{str(source.sha256)[:12]}/{name}": data
        for source in sources
        for name, data in source.files
    }
    entries = [
        FileEntry(path=path, bytes=len(data), sha256=sha256(data).hexdigest(), role="source")
        for path, data in contents.items()
    ]
    return [write_file(folder, entry, contents[entry.path]) for entry in entries]


def write_report(folder: Location, html: str) -> FileEntry:
    """Write the report into the run folder."""
    data = html.encode()
    return write_file(folder, entry_of("", "report", "html", data), data)


def entry_of(below: str, role: str, suffix: str, data: bytes) -> FileEntry:
    """Make the manifest's entry for a file of a role; its name is a digest of its content."""
    digest = sha256(data).hexdigest()
    path = f"{below}{role}-{digest[:12]}.{suffix}"
    return FileEntry(path=path, bytes=len(data), sha256=digest, role=role)


def write_file(folder: Location, entry: FileEntry, data: bytes) -> FileEntry:
    """Write a file that is named by its content; an existing file is kept unchanged."""
    with suppress(AlreadyExists):
        publish(folder / entry.path, data)
    return entry


def _json(value: Any) -> bytes:
    return canonical_bytes(json.loads(json.dumps(value)), indent=2)
