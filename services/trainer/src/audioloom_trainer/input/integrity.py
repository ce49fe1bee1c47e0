"""Compare shard files with the manifest: presence, size and checksum, in place or while copied."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from audioloom_manifest.envelope import Uncompressed
from audioloom_manifest.errors import RecordError
from audioloom_manifest.late_files import Patience
from audioloom_manifest.records.compression import decompressed
from audioloom_storage import Location, NotFound, is_own, list_folder, locate, open_read, stat

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.runtime.retry import with_retries
from audioloom_trainer.shards.shard_set import FileRef, ShardSet

_BLOCK = 256 << 10
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


def verified_copy(file: FileRef, target: Path) -> None:
    """Copy *file* to *target*, unpacked; *target* appears only if its checksum is right.

    An existing copy is verified, and replaced if it is damaged or another user could write it.

    Raises:
        ShardMismatch: the file's size or checksum differs from the manifest.
        StorageError: storage failed for longer than the retries.
        OSError: the local disk failed; nothing of the copy stays.
    """
    if target.is_file() and is_own(locate(target)):
        with target.open("rb") as source:
            if hashlib.file_digest(source, "sha256").hexdigest() == file.content.sha256:
                return
    target.unlink(missing_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        with_retries(lambda: _copy(file, part))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def verify_in_place(file: FileRef) -> None:
    """Compare *file*, read in place, with the manifest; raises as `verified_copy`."""

    def read() -> None:
        with _opened(file) as source:
            digest = hashlib.file_digest(source, "sha256")  # type: ignore[arg-type] # it is buffered
            _check_sha256(file, digest.hexdigest())

    with_retries(read)


def _copy(file: FileRef, part: Path) -> None:
    part.unlink(missing_ok=True)  # never overwrite an existing file: it may be a link
    with _opened(file) as source, os.fdopen(os.open(part, _NEW, 0o600), "wb") as sink:
        stored = hashlib.sha256()
        pieces: Iterable[Any] = _blocks(source, stored)
        if file.uncompressed is not None:
            pieces = _unpacked(file, file.uncompressed, pieces)
        for piece in pieces:
            sink.write(piece)
        _check_sha256(file, stored.hexdigest())


def _blocks(source: BinaryIO, digest: Any) -> Iterator[memoryview]:
    # One buffer for all blocks: for a new buffer the kernel may have to find pages each time.
    buffer = memoryview(bytearray(_BLOCK))
    while count := source.readinto(buffer):  # type: ignore[attr-defined] # it is buffered
        digest.update(buffer[:count])
        yield buffer[:count]


def _unpacked(file: FileRef, wanted: Uncompressed, blocks: Iterable[Any]) -> Iterator[bytes]:
    plain = hashlib.sha256()
    try:
        for piece in decompressed(blocks, file.compression, wanted.bytes):
            plain.update(piece)
            yield piece
    except RecordError as error:
        expected = f"a {file.compression} stream of {wanted.bytes} bytes"
        raise _mismatch(file, expected, str(error)) from None
    if plain.hexdigest() != wanted.sha256:
        expected = f"a stream that unpacks to SHA-256 {wanted.sha256}"
        raise _mismatch(file, expected, plain.hexdigest())


@contextmanager
def _opened(file: FileRef) -> Iterator[BinaryIO]:
    with open_read(file.location) as source:
        _check_size(file, source.seek(0, os.SEEK_END))  # known from the open: no second request
        source.seek(0)
        yield source


def _check_size(file: FileRef, size: int) -> None:
    """Refuse another size of a file than that in the manifest, with ShardMismatch."""
    if size != file.bytes:
        raise _mismatch(file, f"{file.bytes} bytes", f"{size}")


def _check_sha256(file: FileRef, sha256: str) -> None:
    if sha256 != file.sha256:
        raise _mismatch(file, f"{file.bytes} bytes with SHA-256 {file.sha256}", sha256)


def _mismatch(file: FileRef, expected: str, found: str) -> ShardMismatch:
    return ShardMismatch(
        where=file.location,
        expected=expected,
        found=found,
        hint="The file was cut short or changed after its commit: copy it again, or delete the"
        " run of the sharder and rerun it.",
    )
