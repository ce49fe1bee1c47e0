"""Compare shard files with the manifest: presence, size and checksum, in place or while copied.

Copies go to a disk that other programs fill too: to make room, evict copies, then wait.
"""

import errno
import os
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import BinaryIO

import structlog
from audioloom_manifest.checksum import QuickComparison
from audioloom_manifest.envelope import Uncompressed
from audioloom_manifest.errors import RecordError
from audioloom_manifest.late_files import Patience
from audioloom_manifest.records.compression import decompressed
from audioloom_storage import (
    Location,
    NotFound,
    is_own,
    list_folder,
    locate,
    open_read,
    pieces,
    stat,
)

from audioloom_trainer.errors import DiskFull, ShardMismatch
from audioloom_trainer.runtime.retry import pauses, with_retries
from audioloom_trainer.shards.shard_set import FileRef, ShardSet

log = structlog.get_logger()

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_BLOCK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def check_files_exist(shard_set: ShardSet, splits: Iterable[str]) -> None:
    """Compare presence and size of every shard and index of some splits with the manifest.

    Each folder is listed once, for any number of files.

    Raises:
        MissingFile: names the files that are missing and did not appear late either.
        ShardMismatch: names the first file of another size.
    """
    files = [file for split in splits for file in shard_set.split(split).files()]
    sizes: dict[Location, int] = {}
    for folder in {file.location.parent for file in files}:
        with suppress(NotFound):
            sizes.update((entry.location, entry.size) for entry in list_folder(folder))
    other = [file for file in files if sizes.get(file.location) != file.bytes]
    Patience().wait_for(file.location for file in other)
    for file in other:
        _check_size(file, stat(file.location).size)


def fill(
    copy: Callable[[], None],
    path: Path,
    needed: int,
    *,
    evict: Callable[[], bool],
    wait: Callable[[float], None],
) -> None:
    """Run *copy*, which makes a file of *needed* bytes, and make room until it succeeds.

    A copy that fails leaves nothing behind. To make room, *evict* removes another copy, or answers
    False if all are needed, and *wait* waits for a release, for at most the given seconds.

    Raises:
        DiskFull: there was no room until the retry limit.
    """
    folder, left = path.parent, pauses()
    # The free space ignores quotas and other writers, so the copy may still fail for room.
    while not path.exists() and shutil.disk_usage(folder).free < needed and evict():
        pass
    while True:
        try:
            return copy()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            if evict():
                continue
            pause = next(left, None)
            if pause is None:
                raise DiskFull(
                    where=folder,
                    expected=f"{needed} bytes free, for a copy of a shard",
                    found=f"{shutil.disk_usage(folder).free} ({error.strerror})",
                    hint="Make room there, or name a folder on another disk with --cache; the"
                    " copies of this worker that are not in use have given way already. Then run"
                    " again.",
                ) from error
            log.warning(
                "the disk of the cache is full, retrying",
                folder=str(folder),
                free=shutil.disk_usage(folder).free,
                needed=needed,
                wait_s=pause,
            )
            wait(pause)


def verified_copy(file: FileRef, target: Path, *, given_up: Event) -> None:
    """Copy *file* to *target*, unpacked; *target* appears only if its checksum is right.

    An existing copy is verified, and replaced if it is damaged or another user could write it.

    Raises:
        ShardMismatch: the file's size or checksum differs from the manifest.
        StorageError: storage failed for longer than the retries.
        OSError: the local disk failed; nothing of the copy stays.
        CancelledError: *given_up* was set meanwhile.
    """
    if target.is_file() and is_own(locate(target)):
        comparison = QuickComparison(file.content)
        with target.open("rb") as source:
            while block := source.read(_BLOCK):
                comparison.update(block)
        if not comparison.difference():
            return
    target.unlink(missing_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        with_retries(_copy, file, part, given_up, given_up=given_up)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def verify_in_place(file: FileRef, *, given_up: Event) -> None:
    """Compare *file*, read in place, with the manifest; raises as `verified_copy`."""
    with_retries(lambda: deque(_verified(file, given_up), maxlen=0), given_up=given_up)


def _copy(file: FileRef, part: Path, given_up: Event) -> None:
    part.unlink(missing_ok=True)  # never overwrite an existing file: it may be a link
    with (
        closing(_verified(file, given_up)) as stored,
        os.fdopen(os.open(part, _NEW, 0o600), "wb", buffering=0) as sink,
    ):
        try:  # before the first write, where the file system can
            os.posix_fallocate(sink.fileno(), 0, file.content.bytes)
        except OSError as error:
            if error.errno in _FULL:
                raise
        packed = file.uncompressed
        for piece in stored if packed is None else _unpacked(file, packed, stored):
            rest = piece
            while rest:  # a full disk may take a part, and refuse only the next write
                rest = rest[sink.write(rest) :]


def _verified(file: FileRef, given_up: Event) -> Generator[bytes | memoryview, None, None]:
    """Yield the bytes of a file as they lie in storage; ShardMismatch at the end if they differ."""
    comparison = QuickComparison(file)
    with _opened(file.location) as source:
        _check_size(file, source.seek(0, os.SEEK_END))  # known from the open: no second request
        source.seek(0)
        for piece in pieces(source):
            if given_up.is_set():
                raise CancelledError
            comparison.update(piece)
            yield piece
    if different := comparison.difference():
        expected, found = different
        raise _mismatch(file, f"{file.bytes} bytes with {expected}", found)


def _opened(location: Location) -> BinaryIO:
    try:
        return open_read(location)
    except NotFound:  # the chief alone has looked for it, perhaps on another machine
        Patience().wait_for([location])
        return open_read(location)


def _unpacked(
    file: FileRef, wanted: Uncompressed, blocks: Iterable[bytes | memoryview]
) -> Iterator[bytes]:
    comparison = QuickComparison(wanted)
    try:
        for piece in decompressed(blocks, file.compression, wanted.bytes):
            comparison.update(piece)
            yield piece
    except RecordError as error:
        expected = f"a {file.compression} stream of {wanted.bytes} bytes"
        raise _mismatch(file, expected, str(error)) from None
    if different := comparison.difference():
        expected, found = different
        raise _mismatch(file, f"a stream that unpacks to {expected}", found)


def _check_size(file: FileRef, size: int) -> None:
    """Refuse another size of a file than that in the manifest, with ShardMismatch."""
    if size != file.bytes:
        raise _mismatch(file, f"{file.bytes} bytes", f"{size}")


def _mismatch(file: FileRef, expected: str, found: str) -> ShardMismatch:
    return ShardMismatch(
        where=file.location,
        expected=expected,
        found=found,
        hint="The file was cut short or changed after its commit: copy it again, or delete the"
        " run of the sharder and rerun it.",
    )
