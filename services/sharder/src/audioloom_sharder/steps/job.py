"""What every unit of work knows, the names of the units, and the files between the steps.

A run's folder while it is worked on::

    receipts/            one for each finished unit of shards; kept
    shards/              the shards and their indexes
    splits/              where each group lies
    work/                removed once the manifest is committed
      receipts/          one for each finished unit of the other steps
      members-… splits-… scans-… ranks-… segments-…

A file in ``work/`` is named by its unit and a random token, so two attempts at a unit never meet.
The first receipt says which file counts.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from audioloom_sharder.formats.codec import Codec
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.splits.sources import NO_SOURCES, SplitSources
from audioloom_sharder.windows.rules import Rules

WORK = "work"
_ROLE = "work"
_HINT = "Remove the run's work/ folder and run again."


class Step(NamedTuple):
    """A step of a run: how its units are named, and how progress calls it."""

    name: str
    activity: str
    units: str
    kept: bool = False
    """Whether its receipts stay in the run's folder."""


MEMBERS = Step("members", "gathering groups", "files")
SPLITS = Step("splits", "assigning groups to splits", "units")
RESAMPLING = Step("resampling", "counting labels", "files")
SCANS = Step("scans", "scanning", "files")
RANKS = Step("ranks", "ranking", "ranges")
GROUPS = Step("groups", "listing groups", "units", kept=True)
SEGMENTS = Step("segments", "encoding", "files")
SHARDS = Step("shards", "writing shards", "units", kept=True)

_INTERMEDIATE = re.compile(
    rf"{WORK}/(receipts/)?"
    rf"({'|'.join(step.name for step in (MEMBERS, SPLITS, RESAMPLING, SCANS, RANKS, SEGMENTS))})"
    r"-[0-9]{5,}-[0-9a-f]{12}(-[0-9a-f]{8}\.bin|\.json)"
)


@dataclass(frozen=True)
class SplitFiles:
    """Where the decided splits lie, where more than a hash decides them."""

    path: str
    """The file of split numbers, features file by features file."""
    starts: tuple[int, ...]
    """The item at which the numbers of each features file begin, and the number of items."""
    members: tuple[tuple[str, int], ...]
    """For each features file, the file of its groups and the number of rows there."""


@dataclass(frozen=True)
class Job:
    """What every unit of work of a run knows."""

    folder: Location
    basis: str
    """Digest of all that decides the bytes: recipe, inputs and this release."""
    attempt: str
    rules: Rules
    where: str
    """The inputs, as errors name them."""
    sources: tuple[Source, ...]
    ranges: int
    codec: Codec
    split_sources: SplitSources = NO_SOURCES
    split_files: SplitFiles | None = None

    @property
    def work(self) -> Location:
        """The folder of the files between the steps."""
        return self.folder / WORK


def unit_name(job: Job, step: Step, number: int) -> str:
    """The name of a unit: another recipe, input or release gives another name."""
    return f"{step.name}-{number:05d}-{digest([job.basis, step.name, number])[:12]}"


def write_intermediate(job: Job, unit: str, chunks: Iterable[bytes]) -> FileEntry:
    """Write a file between the steps."""
    return write_checksummed(job, unit, ((chunk, chunk) for chunk in chunks))


def write_checksummed(
    job: Job, unit: str, chunks: Iterable[tuple[bytes | memoryview, bytes | memoryview]]
) -> FileEntry:
    """Write a file between the steps whose content carries checksums of its own.

    Args:
        job: the run.
        unit: the unit that writes it.
        chunks: what is written, and what stands for it in the file's digest. A digest of every
            byte of the payload would cost a sixth of a pass, and nobody compares it: readers check
            each record.
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


def publish_unit(job: Job, unit: str, entry: FileEntry, counts: dict[str, Any]) -> Receipt:
    """Publish the receipt of a unit; return the receipt that counts."""
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
            hint=_HINT,
        )
    return data


def read_into(location: Location, offset: int, room: memoryview) -> int:
    """Fill *room* from *offset* of a file between the steps; return the bytes that were read."""
    with open_read(location) as stream:
        stream.seek(offset)
        return int(stream.readinto(room))  # type: ignore[attr-defined] # it is buffered


def read_array(location: Location, dtype: np.dtype[Any], offset: int, count: int) -> NDArray[Any]:
    """*count* items of *dtype* from byte *offset* of a file between the steps."""
    data = read_range(location, offset, count * dtype.itemsize)
    return np.frombuffer(data, dtype=dtype)


def is_intermediate(path: str) -> bool:
    """Whether a file of this path below a run folder lies between the steps."""
    return _INTERMEDIATE.fullmatch(path) is not None


def remove_intermediate(run: Location) -> None:
    """Remove the files between the steps; `gc` finds those that cannot be removed now.

    Files of others stay, and so does what lies behind a link.
    """
    root, work = root_of(run), run / WORK
    with suppress(StorageError):
        for entry in walk(work, within=root, links=False):
            if is_intermediate(finished_path(entry.location.relative_to(run))):
                remove(entry.location, within=root)
        for folder in (work / "receipts", work):
            remove_empty_folder(folder, within=root)
