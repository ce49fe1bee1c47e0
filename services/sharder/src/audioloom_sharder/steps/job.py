"""The job that all units of a run share, the names of the units, and the intermediate files.

The folder of an unfinished run::

    receipts/            one for each finished unit of shards; kept
    shards/              the shards and their indexes
    splits/              the split of each group
    work/                removed once the manifest is committed; perhaps on local disk (`run`)
      members/ … tables/ a folder for each other step: its files, and
        receipts/        one for each finished unit

A file in ``work/`` is named by its unit and a random token, so two attempts at a unit never meet.
The first receipt says which file counts.
"""

import hashlib
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from audioloom_manifest.canonical import digest
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.layout import root_of
from audioloom_manifest.receipts import RECEIPTS, Receipt, publish_receipt, remove_receipt
from audioloom_storage import (
    AlreadyExists,
    Location,
    StorageError,
    Unavailable,
    create,
    finished_path,
    open_read,
    remove,
    remove_empty_folder,
    stat,
    walk,
)
from numpy.typing import NDArray

from audioloom_sharder.errors import DamagedRecord, DamagedShards
from audioloom_sharder.rules import Rules
from audioloom_sharder.splits.assign import SplitSource

WORK = "work"
DAMAGED_HINT = "Run again; if the file lies in the run's work/ folder, remove that folder first."
_REMOVED_AT_ONCE = 16


class Step(NamedTuple):
    """A step of a run: the names of its units, and its name in the progress."""

    name: str
    activity: str
    units: str
    kept: bool = False
    """Whether its receipts stay in the run's folder."""
    arrays: int = 0
    """The number of arrays in each of its files, where a table says where they lie."""


MEMBERS = Step("members", "gathering groups", "files")
SPLITS = Step("splits", "assigning groups to splits", "units")
RESAMPLING = Step("resampling", "counting labels", "files")
SCANS = Step("scans", "scanning", "files", arrays=5)
RANKS = Step("ranks", "ranking", "ranges", arrays=3)
GROUPS = Step("groups", "listing groups", "units", kept=True)
SEGMENTS = Step("segments", "encoding", "files", arrays=4)
SHARDS = Step("shards", "writing shards", "units", kept=True)
TABLES = Step("tables", "", "")

_IN_WORK = (MEMBERS, SPLITS, RESAMPLING, SCANS, RANKS, SEGMENTS, TABLES)
_NAMES = f"({'|'.join(step.name for step in _IN_WORK)})"
_INTERMEDIATE = re.compile(
    rf"{WORK}/({_NAMES}/)?(receipts/)?({_NAMES})"
    r"-[0-9]{5,}-[0-9a-f]{12}(-[0-9a-f]{8}\.bin|\.json)"
)


@dataclass(frozen=True)
class Job:
    """The facts that all units of a run share."""

    folder: Location
    work: Location
    """The folder of the intermediate files."""
    basis: str
    """Digest of all that decides the bytes: recipe, inputs and this release."""
    attempt: str
    rules: Rules
    where: str
    """The inputs, as errors name them."""
    ranges: int
    split_source: SplitSource

    def folder_of(self, step: Step) -> Location:
        """Return the folder of a step's files and receipts."""
        return self.folder if step.kept else self.work / step.name


def unit_name(job: Job, step: Step, number: int) -> str:
    """Name a unit; another recipe, input or release gives another name."""
    return f"{step.name}-{number:05d}-{digest([job.basis, step.name, number])[:12]}"


def publish_unit(
    job: Job,
    step: Step,
    number: int,
    chunks: Iterable[tuple[bytes | memoryview, bytes | memoryview]],
    counts: dict[str, Any],
    *,
    replication: int | None = None,
) -> Receipt:
    """Write the intermediate file of a unit and publish its receipt; return the one that counts.

    A chunk is the bytes to write, and the bytes that stand for them in the file's digest: a digest
    of the whole payload would cost a sixth of a pass for nothing, as readers check each record.
    The *counts* of the receipt are complete once the chunks are written.
    """
    unit, folder = unit_name(job, step, number), job.folder_of(step)
    path = f"{unit}-{secrets.token_hex(4)}.bin"
    sha256 = hashlib.sha256()
    size = 0
    with create(folder / path, replication=replication) as stream:
        for chunk, seal in chunks:
            stream.write(chunk)
            sha256.update(seal)
            size += len(chunk)
    entry = FileEntry(path=path, bytes=size, sha256=sha256.hexdigest(), role=WORK)
    receipt = Receipt(unit=unit, attempt=job.attempt, files=(entry,), counts=counts)
    return publish_receipt(folder, receipt)


def write_named(
    where: Location, chunks: Iterable[bytes | memoryview], size: int
) -> Callable[[], None]:
    """Write a file whose name is a digest of its content: perhaps another attempt wrote it.

    The function that is returned writes it and lets it appear, perhaps in another thread: HDFS
    takes half a second for the end alone where a file has one replica. The function raises
    DamagedShards if the file was there with another size.
    """
    with suppress(AlreadyExists), ExitStack() as stack:
        stream = stack.enter_context(create(where))
        opened = stack.pop_all()

        def write() -> None:
            with suppress(AlreadyExists), opened:
                stream.writelines(chunks)
                return
            _check_size(where, size)

        return write
    return partial(_check_size, where, size)


def _check_size(where: Location, size: int) -> None:
    if (found := stat(where).size) != size:
        raise DamagedShards(
            expected=f"{size} bytes",
            found=found,
            where=where,
            hint="The file was changed after it was written: remove it and run again.",
        )


@contextmanager
def made_again_if_lost(where: Location) -> Iterator[None]:
    """Let the next run make an intermediate file again that cannot be read in this block.

    HDFS lists a file still when all copies of its blocks are gone. If they come back, no more is
    lost than the time for one file.
    """
    try:
        yield
    except Unavailable:
        unit = where.name.rpartition("-")[0]
        with suppress(StorageError):  # the NameNode does not answer: nothing is lost
            remove_receipt(where.parent, unit)
        raise


def publish_arrays(
    job: Job, step: Step, number: int, arrays: Sequence[NDArray[Any]], counts: dict[str, Any]
) -> Receipt:
    """Publish a unit whose file holds *arrays*, one after another."""
    offsets = np.cumsum([0, *(array.nbytes for array in arrays)]).tolist()
    chunks = ((data, data) for data in (array.tobytes() for array in arrays))
    return publish_unit(job, step, number, chunks, {"offsets": offsets, **counts})


class StoredArray(NamedTuple):
    """An array in an intermediate file."""

    location: Location
    offset: int
    size: int

    def read(
        self,
        dtype: np.dtype[Any],
        begin: int = 0,
        end: int | None = None,
        stream: BinaryIO | None = None,
    ) -> NDArray[Any]:
        """Read the items from *begin* to *end*, from an open *stream* of the file if given."""
        end = self.size // dtype.itemsize if end is None else end
        start, size = self.offset + begin * dtype.itemsize, (end - begin) * dtype.itemsize
        with open_read(self.location) if stream is None else nullcontext(stream) as file:
            file.seek(start)
            data = file.read(size)
        if len(data) != size:
            raise DamagedRecord(
                expected=f"{size} bytes at {start}",
                found=len(data),
                where=self.location,
                hint=DAMAGED_HINT,
            )
        return np.frombuffer(data, dtype)


def stored(job: Job, step: Step, receipt: Receipt, number: int = 0) -> StoredArray:
    """Return array *number* of a unit that `publish_arrays` published."""
    offset, end = receipt.counts["offsets"][number : number + 2]
    return StoredArray(job.folder_of(step) / receipt.files[0].path, offset, end - offset)


def publish_table(job: Job, step: Step, receipts: Iterable[Receipt]) -> StoredArray:
    """Write where the files of some units lie; many tasks read it in place of a large argument."""
    lines = [(one.files[0].path.encode(), one.counts["offsets"]) for one in receipts]
    rows = np.array(lines, _row(step))
    name = f"{unit_name(job, TABLES, _IN_WORK.index(step))}-{secrets.token_hex(4)}.bin"
    where = job.folder_of(TABLES) / name
    with create(where) as stream:
        stream.write(rows.tobytes())
    return StoredArray(where, 0, rows.nbytes)


def files_in(job: Job, step: Step, table: StoredArray) -> Iterator[list[StoredArray]]:
    """Yield the arrays of each file in a table of `publish_table`."""
    rows = _read_table(table, step)
    for path, offsets in zip(rows["path"].tolist(), rows["offsets"].tolist(), strict=True):
        where = job.folder_of(step) / path.decode()
        yield [StoredArray(where, offset, end - offset) for offset, end in pairwise(offsets)]


@lru_cache(maxsize=2)
def _read_table(table: StoredArray, step: Step) -> NDArray[np.void]:
    return table.read(_row(step))  # once in each process


def _row(step: Step) -> np.dtype[np.void]:
    return np.dtype([("path", "S64"), ("offsets", "<i8", (step.arrays + 1,))])


def is_intermediate(path: str) -> bool:
    """Return True if *path*, below a run folder, is that of an intermediate file."""
    return _INTERMEDIATE.fullmatch(path) is not None


def remove_intermediate(run: Location) -> None:
    """Remove the intermediate files; `gc` finds files that cannot be removed now.

    Foreign files and the targets of links stay.
    """
    root, work = root_of(run), run / WORK
    # One call after the other, those of a large run would take minutes.
    with suppress(StorageError), ThreadPoolExecutor(_REMOVED_AT_ONCE, "removal") as threads:
        found = (entry.location for entry in walk(work, within=root, links=False))
        ours = (each for each in found if is_intermediate(finished_path(each.relative_to(run))))
        deque(threads.map(partial(remove, within=root), ours), maxlen=0)
        for folder in (*(work / step.name for step in _IN_WORK), work):
            remove_empty_folder(folder / RECEIPTS, within=root)
            remove_empty_folder(folder, within=root)
