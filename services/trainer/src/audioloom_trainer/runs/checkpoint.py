"""Checkpoints: everything that a run needs to resume as if it had never stopped.

A checkpoint is a folder `checkpoints/step-<8 digits>` of the run. The state (`state-<digest>.npz`)
is written first, the commit record (`commit.json`) last. Without the record there is no
checkpoint. A run resumes from the newest checkpoint whose state matches its record.
"""

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import structlog
from audioloom_manifest.canonical import canonical_bytes
from audioloom_manifest.layout import root_of
from audioloom_stage.errors import NameTaken
from audioloom_storage import (
    AlreadyExists,
    Entry,
    Location,
    NotAFolder,
    NotFound,
    TooLarge,
    create,
    finished_path,
    list_folder,
    publish,
    read_bytes,
    remove,
    remove_empty_folder,
    stat,
)
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from audioloom_trainer.runs.npz import BadArrays, dump_arrays, load_arrays
from audioloom_trainer.runtime.retry import with_retries

log = structlog.get_logger()

RECORD_NAME = "commit.json"
_FOLDER = re.compile(r"step-[0-9]{8,}")
_FILE = re.compile(r"commit\.json|state-[0-9a-f]{12}\.npz")
_MOST_COMMIT_BYTES = 64 << 20
_MOST_STATE_BYTES = 1 << 40

State = Mapping[str, NDArray[np.generic]]


class StateRef(BaseModel):
    """The file that holds the state."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^state-[0-9a-f]{12}\.npz$")
    bytes: int = Field(ge=0, le=_MOST_STATE_BYTES)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class CheckpointRecord(BaseModel):
    """The commit record of a checkpoint.

    `step` counts global batches since the start of the run. `recipe` is the digest of recipe and
    inputs, so that no other run uses the checkpoint. `position` holds the loop's own variables:
    the history so far and the sums of the current epoch.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    kind: str = Field(pattern="^checkpoint$")
    version: str = Field(pattern=r"^1\.[0-9]+$")
    step: int = Field(ge=0)
    recipe: str = Field(pattern=r"^[0-9a-f]{64}$")
    replicas: int = Field(ge=1)
    state: StateRef
    position: dict[str, JsonValue]


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint in memory."""

    record: CheckpointRecord
    state: dict[str, NDArray[np.generic]]


def list_checkpoints(run: Location) -> Iterator[tuple[Location, CheckpointRecord]]:
    """Yield a run's checkpoint folders that have a readable record, newest first."""
    for entry in checkpoint_folders(run):
        if (commit := read_commit(entry.location)) is not None:
            yield entry.location, commit


def checkpoint_folders(run: Location) -> list[Entry]:
    """Return a run's checkpoint folders, newest first, without links, which lead elsewhere."""
    try:
        found = list(list_folder(run / "checkpoints"))
    except (NotFound, NotAFolder):
        return []
    found = [entry for entry in found if entry.is_folder and not entry.is_link]
    folders = [entry for entry in found if _FOLDER.fullmatch(entry.location.name)]
    return sorted(folders, key=lambda entry: int(entry.location.name[5:]), reverse=True)


def newest_checkpoint(run: Location, recipe: str) -> Checkpoint | None:
    """Return the newest whole checkpoint of a run; None if the run has none.

    Raises:
        NameTaken: a checkpoint in the folder has another recipe.
        StorageError: storage failed; a damaged file does not raise.
    """
    for folder, commit in list_checkpoints(run):
        if commit.recipe != recipe:
            raise NameTaken(
                where=folder,
                expected="checkpoints of the run that is asked for",
                found="one of another recipe or other shards",
                hint="Nothing is overwritten: give another --name (or none), or remove the run.",
            )
        if (found := _whole(folder, commit)) is not None:
            return found
    return None


def _whole(folder: Location, commit: CheckpointRecord) -> Checkpoint | None:
    try:
        return read_checkpoint(folder, commit)
    except (BadArrays, NotFound) as error:
        log.warning("skipping a damaged checkpoint", checkpoint=str(folder), found=str(error))
    return None


def read_checkpoint(folder: Location, commit: CheckpointRecord) -> Checkpoint:
    """Read a checkpoint that `list_checkpoints` has found.

    Raises:
        BadArrays, NotFound: the checkpoint is damaged, or has been removed meanwhile.
    """
    try:
        data = read_bytes(folder / commit.state.name, limit=commit.state.bytes)
    except TooLarge:
        raise BadArrays("more bytes than its record says") from None
    return checked(commit, data)


def checked(commit: CheckpointRecord, data: bytes) -> Checkpoint:
    """Return the checkpoint of a record and its state's bytes; BadArrays if they do not match."""
    ref = commit.state
    if len(data) != ref.bytes or hashlib.sha256(data).hexdigest() != ref.sha256:
        raise BadArrays(f"{len(data)} bytes that are not those of its record ({ref.bytes})")
    return Checkpoint(commit, load_arrays(data))


@dataclass
class CheckpointWriter:
    """Background writer of checkpoints, one at a time, while the training goes on.

    The newest *keep* of them stay. The number of replicas is recorded for people.
    """

    run: Location
    recipe: str
    replicas: int
    keep: int
    _closing: threading.Event = field(default_factory=threading.Event)
    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "checkpoint"))
    _pending: Future[None] | None = None

    def save(self, step: int, state: State, position: dict[str, Any]) -> None:
        """Write a checkpoint in the background, after the previous write has ended.

        Raises:
            StorageError: the previous checkpoint could not be written.
        """
        self.wait()
        self._pending = self._worker.submit(self._write, step, state, position)

    def wait(self) -> None:
        """Wait until the write has ended; raises as `save`."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Wait for the write and ignore its result; stop its retries."""
        self._closing.set()
        self._worker.shutdown(wait=True)

    def _write(self, step: int, state: State, position: dict[str, Any]) -> None:
        folder = self.run / f"checkpoints/step-{step:08}"
        data = dump_arrays(state)
        sha256 = hashlib.sha256(data).hexdigest()
        ref = StateRef(name=f"state-{sha256[:12]}.npz", bytes=len(data), sha256=sha256)
        commit = CheckpointRecord(
            kind="checkpoint",
            version="1.0",
            step=step,
            recipe=self.recipe,
            replicas=self.replicas,
            state=ref,
            position=position,
        )
        record = canonical_bytes(commit.model_dump(mode="json"), indent=2)

        def store() -> None:
            _refuse_link(folder)
            standing = read_commit(folder)
            if standing is None or _whole(folder, standing) is None:
                _remove(self.run, folder)
                with suppress(AlreadyExists), create(folder / ref.name) as sink:
                    sink.write(data)
                publish(folder / RECORD_NAME, record)
            # A damaged one that has gone further must not push out the one just written.
            others = [old for old, _ in list_checkpoints(self.run) if old.name != folder.name]
            for old in others[self.keep - 1 :]:
                _remove(self.run, old)

        with_retries(store, given_up=self._closing)


def _remove(run: Location, folder: Location) -> None:
    """Remove the trainer's files of a checkpoint, never through a link; then an empty folder."""
    root = root_of(run)
    try:
        # Remove the record before the state, so that no record names a missing state.
        for entry in list_folder(folder):
            ours = _FILE.fullmatch(finished_path(entry.location.name)) is not None
            if ours and not (entry.is_link or entry.is_folder):
                with suppress(NotFound):  # `gc` has removed it
                    remove(entry.location, within=root)
        remove_empty_folder(folder, within=root)
    except NotFound:
        return
    except NotAFolder as error:
        log.warning("a checkpoint cannot be removed", checkpoint=str(folder), found=str(error))


def _refuse_link(folder: Location) -> None:
    """Refuse a link: writing through it would change foreign files."""
    with suppress(NotFound):
        if stat(folder).is_link:
            raise NotAFolder(
                "a link lies there",
                where=folder,
                expected="a folder of the run, or nothing",
                hint="Remove the link, then run again.",
            )


def read_commit(folder: Location) -> CheckpointRecord | None:
    """Read the record of a checkpoint; None if there is none, or it is damaged."""
    where = folder / RECORD_NAME
    try:
        return CheckpointRecord.model_validate_json(read_bytes(where, limit=_MOST_COMMIT_BYTES))
    except (NotFound, NotAFolder):
        return None
    except (ValidationError, TooLarge) as error:
        log.warning("skipping a damaged checkpoint", checkpoint=str(where), found=str(error))
        return None
