"""The files of a finished run, each named by its content, and their entries in the manifest.

Except in the derived files (the report, the exported model), nothing depends on when or where the
run was made. So a run that is deleted and made again has the same files and the same identity.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
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
from audioloom_trainer.runtime.retry import with_retries

Made = tuple[FileEntry, bytes]
"""A file before it is written: its entry in the manifest, and its content."""


def made(role: str, data: bytes, path: str, suffix: str = "") -> Made:
    """Make a file; with a *suffix*, its path ends with a digest of its content and the suffix."""
    digest = sha256(data).hexdigest()
    where = f"{path}-{digest[:12]}{suffix}" if suffix else path
    return FileEntry(path=where, bytes=len(data), sha256=digest, role=role), data


def result_files(
    weights: Mapping[str, NDArray[np.generic]],
    config: dict[str, Any],
    history: Sequence[Mapping[str, float]],
    evaluation: dict[str, Any],
) -> list[Made]:
    """Make the files of the results.

    The weights are in the model's order; the configuration is Keras's, without weights.
    """
    objects = {"model": config, "history": {"epochs": history}, "evaluation": evaluation}
    return [
        made("weights", dump_arrays(weights), "model/weights", ".npz"),
        *(made(role, _json(value), f"model/{role}", ".json") for role, value in objects.items()),
    ]


def kept_sources(*sources: ModelSource) -> list[Made]:
    """Make the files of the user's functions, so that they are not lost.

    Nothing runs them from the run folder unless a user names them by `--model`.
    """
    contents = {
        f"source/{str(source.sha256)[:12]}/{name}": data
        for source in sources
        for name, data in source.files
    }
    return [made("source", data, path) for path, data in contents.items()]


def write_files(folder: Location, files: Iterable[Made]) -> list[FileEntry]:
    """Write files into the run folder; keep those of an earlier attempt, which are equal."""
    entries = []
    for entry, data in files:
        with suppress(AlreadyExists):
            with_retries(publish, folder / entry.path, data)
        entries.append(entry)
    return entries


def _json(value: Any) -> bytes:
    return canonical_bytes(json.loads(json.dumps(value)), indent=2)
