"""Work units, their receipts, and the files that lie between the steps.

A run's folder while it is worked on::

    receipts/            one for each finished unit of shards; kept
    shards/              the shards and their indexes
    splits/              where each group lies
    work/                all of this is removed once the manifest stands
      receipts/          one for each finished unit of the steps before
      members-… places-… keys-… ranks-… segments-…

What lies in ``work/`` is named by unit and a random token: two tries at a unit never meet, and the
first receipt says which file stands.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from audioloom_manifest import FileEntry, Receipt, digest, publish_receipt, root_of
from audioloom_storage import (
    Location,
    StorageError,
    create,
    finished_path,
    open_read,
    remove,
    remove_empty_folder,
    walk,
)
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats.codec import Packing
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.splits.previous_run import NOTHING, Given
from audioloom_sharder.windows.rules import Rules

WORK = "work"
_ROLE = "work"
_OURS = re.compile(
    rf"{WORK}/(receipts/)?(members|places|resampling|keys|ranks|segments)"
    r"-[0-9]{5,}-[0-9a-f]{12}(-[0-9a-f]{8}\.bin|\.json)"
)


@dataclass(frozen=True)
class Placement:
    """Where the splits that were decided lie, where more than a hash decides them."""

    path: str
    """Of the file that holds the split numbers, features file by features file."""
    starts: tuple[int, ...]
    """The item at which those of each features file begin, and their number."""
    members: tuple[tuple[str, int], ...]
    """Of each features file, the file that holds its groups, and the rows of it."""


@dataclass(frozen=True)
class Job:
    """What every task of a run knows."""

    folder: Location
    basis: str
    """Digest of all that decides the bytes: recipe, inputs and this release."""
    attempt: str
    rules: Rules
    where: str
    """The inputs, as errors name them."""
    sources: tuple[Source, ...]
    ranges: int
    packing: Packing
    given: Given = NOTHING
    placement: Placement | None = None

    @property
    def work(self) -> Location:
        """The folder of the steps in between."""
        return self.folder / WORK


def unit_name(job: Job, step: str, number: int) -> str:
    """The name of a unit: no other recipe, input or release gives the same one."""
    return f"{step}-{number:05d}-{digest([job.basis, step, number])[:12]}"


def write_work(job: Job, unit: str, chunks: Iterable[bytes]) -> FileEntry:
    """Write a file between the steps."""
    return write_sealed(job, unit, ((chunk, chunk) for chunk in chunks))


def write_sealed(
    job: Job, unit: str, chunks: Iterable[tuple[bytes | memoryview, bytes | memoryview]]
) -> FileEntry:
    """Write a file between the steps, some of which carries checksums of its own.

    Args:
        job: the run.
        unit: what it comes from.
        chunks: what is written, and what stands for it in the file's digest. A digest of every
            byte of the payload would cost a sixth of a pass, and nobody compares it: whoever reads
            such a file checks each record.
    """
    path = f"{unit}-{secrets.token_hex(4)}.bin"
    sha256 = hashlib.sha256()
    size = 0
    with create(job.work / path) as stream:
        for chunk, seal in chunks:
            stream.write(chunk)
            sha256.update(seal)
            size += len(chunk)
    return FileEntry(path=path, bytes=size, sha256=sha256.hexdigest(), role=_ROLE)


def finish(job: Job, unit: str, entry: FileEntry, counts: dict[str, Any]) -> Receipt:
    """Publish the receipt of a unit of the steps in between; answer the one that stands."""
    receipt = Receipt(unit=unit, attempt=job.attempt, files=(entry,), counts=counts)
    return publish_receipt(job.work, receipt)


def read_range(location: Location, offset: int, size: int) -> bytes:
    """*size* bytes from *offset* of a file between the steps."""
    with open_read(location) as stream:
        stream.seek(offset)
        data = stream.read(size)
    if len(data) != size:
        raise DamagedRecord(
            expected=f"{size} bytes at {offset}",
            found=len(data),
            where=location,
            hint="Remove the run's work/ folder and run again.",
        )
    return data


def read_into(location: Location, offset: int, room: memoryview) -> int:
    """Fill *room* from *offset* of a file between the steps; the bytes there were."""
    with open_read(location) as stream:
        stream.seek(offset)
        return int(stream.readinto(room))  # type: ignore[attr-defined] # it is buffered


def read_array(location: Location, dtype: np.dtype[Any], offset: int, count: int) -> NDArray[Any]:
    """*count* items of *dtype* from byte *offset* of a file between the steps."""
    data = read_range(location, offset, count * dtype.itemsize)
    return np.frombuffer(data, dtype=dtype)


def is_between(path: str) -> bool:
    """Whether a file of this path below a run folder lies between the steps."""
    return _OURS.fullmatch(path) is not None


def tidy(run: Location) -> None:
    """Take away what lies between the steps; `gc` finds what cannot be taken away now.

    File by file: what others put there stays, and so does what lies behind a link.
    """
    root, work = root_of(run), run / WORK
    with suppress(StorageError):
        for entry in walk(work, within=root, links=False):
            if is_between(finished_path(entry.location.relative_to(run))):
                remove(entry.location, within=root)
        for folder in (work / "receipts", work):
            remove_empty_folder(folder, within=root)
