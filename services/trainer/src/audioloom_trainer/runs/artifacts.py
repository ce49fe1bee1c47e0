"""The files of a finished run, each named by its content, and what the manifest says of them.

But for what is derived (the report, the model as other programs load it), nothing in them depends
on when or where the run was made, so a run that is deleted and made again has the same files and
the same identity.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from audioloom_manifest import FileEntry, canonical_bytes
from audioloom_storage import AlreadyExists, Location, publish
from numpy.typing import NDArray

from audioloom_trainer.runs.npz import dump_arrays

ROLES = ("weights", "model", "history", "evaluation")


@dataclass(frozen=True)
class RunResults:
    """What came out of a training.

    Args:
        weights: by name, in the model's order.
        config: the model as Keras writes it, without weights.
        history: an object an epoch.
        evaluation: what `evaluation_report` gave.
    """

    weights: Mapping[str, NDArray[np.generic]]
    config: dict[str, Any]
    history: Sequence[Mapping[str, float]]
    evaluation: dict[str, Any]


def write_results(folder: Location, finished: RunResults) -> list[FileEntry]:
    """Write the files into the run folder; those that an earlier try left are taken as they are."""
    contents = {
        "weights": ("npz", dump_arrays(finished.weights)),
        "model": ("json", _json(finished.config)),
        "history": ("json", _json({"epochs": finished.history})),
        "evaluation": ("json", _json(finished.evaluation)),
    }
    return [
        write_file(folder, entry_of("model/", role, suffix, data), data)
        for role, (suffix, data) in contents.items()
    ]


def write_report(folder: Location, html: str) -> FileEntry:
    """Write the page into the run folder."""
    data = html.encode()
    return write_file(folder, entry_of("", "report", "html", data), data)


def entry_of(below: str, role: str, suffix: str, data: bytes) -> FileEntry:
    """What the manifest says of a file of a role, which is named by its content."""
    sha256 = hashlib.sha256(data).hexdigest()
    path = f"{below}{role}-{sha256[:12]}.{suffix}"
    return FileEntry(path=path, bytes=len(data), sha256=sha256, role=role)


def write_file(folder: Location, entry: FileEntry, data: bytes) -> FileEntry:
    """Write a file whose name is its content; one that is there already is taken as it is."""
    with suppress(AlreadyExists):
        publish(folder / entry.path, data)
    return entry


def _json(value: Any) -> bytes:
    return canonical_bytes(json.loads(json.dumps(value)), indent=2)
