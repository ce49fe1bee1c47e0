"""Verified copies of shards on local disk, named by their content, and their folder.

Each process locks a folder of its own below the cache, and the lock ends with the process. So the
workers of a machine may share a cache. A copy of an earlier attempt is verified and used again,
but only if no other user can write it: another user could change it after the verification.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import structlog
from audioloom_manifest.envelope import Uncompressed
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import decompressed
from audioloom_storage import is_guarded, is_own, locate, open_read

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.runtime.retry import with_retries
from audioloom_trainer.shards.shard_set import FileRef, Shard, ShardSet

log = structlog.get_logger()

_BLOCK = 256 << 10
_OURS = re.compile(r"[0-9a-f]{64}\.(tfrecord|npy)(\.part)?")
_MOST_WORKERS = 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Cache:
    """A folder of at most *limit* bytes that only this process uses, below *folder*."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self.folder, self._lock = _own_folder(folder)
        self._left: dict[Path, int] = {}

    def paths(self, shard: Shard) -> tuple[Path, Path]:
        """Return the paths for the copies of a shard and its index, which may not exist."""
        data, index = shard.data.content.sha256, shard.index.content.sha256
        return self.folder / f"{data}.tfrecord", self.folder / f"{index}.npy"

    def keep_only(self, wanted: Iterable[Shard]) -> None:
        """Remove the files of earlier runs, except the copies of the shards in *wanted*."""
        kept = {path for shard in wanted for path in self.paths(shard)}
        for path in self.folder.iterdir():
            if path in kept:
                self._left[path] = path.stat().st_size
            elif _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    @property
    def left(self) -> int:
        """Bytes of the earlier runs' files that are not claimed yet."""
        return sum(self._left.values())

    def claim(self, *paths: Path) -> None:
        """Remove files from the count of left files; the caller counts them from now on."""
        for path in paths:
            self._left.pop(path, None)

    def give_way(self) -> bool:
        """Remove one file of an earlier run; False if there is none."""
        if not self._left:
            return False
        path, _ = self._left.popitem()
        path.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Unlock the folder; the copies stay for the next run."""
        self._lock.close()


def _own_folder(folder: Path) -> tuple[Path, BinaryIO]:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_MOST_WORKERS):
        mine = folder / f"worker-{number}"
        try:
            mine.mkdir(mode=0o700)
        except FileExistsError:
            if not (is_own(locate(mine)) and mine.is_dir()):
                continue  # other users may put a link to foreign files there
        else:
            if not is_own(locate(mine)):
                raise OSError(f"{mine}: others may write what was made there for this user alone")
        lock = (mine / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return mine, lock
    raise OSError(f"{folder}: {_MOST_WORKERS} processes or other users use this cache already")


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
            _check(file, digest.hexdigest())

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
        _check(file, stored.hexdigest())


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
        check_size(file, source.seek(0, os.SEEK_END))  # known from the open: no second request
        source.seek(0)
        yield source


def check_size(file: FileRef, size: int) -> None:
    """Refuse another size of a file than that in the manifest, with ShardMismatch."""
    if size != file.bytes:
        raise _mismatch(file, f"{file.bytes} bytes", f"{size}")


def _check(file: FileRef, sha256: str) -> None:
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


@contextmanager
def open_cache(shard_set: ShardSet, folder: str | None, limit: int) -> Iterator[Cache | None]:
    """Open the cache of this process; None if all shards can be read in place.

    Without a *folder*, only shards that cannot be read in place are copied: in a YARN container to
    the application's local folder (it lasts as long as the application, so a restarted worker
    finds the copies), elsewhere to a temporary one.
    """
    files = [file for split in shard_set.splits.values() for file in split.files()]
    in_place = all(each.location.scheme == "file" and each.uncompressed is None for each in files)
    if folder is None and in_place:
        yield None
        return
    given = Path(folder).expanduser().absolute() if folder else _of_application()
    with ExitStack() as stack:
        if given is None:
            made = tempfile.TemporaryDirectory(prefix="audioloom-shards-")
            given = Path(stack.enter_context(made))
        log.info("copying shards to local disk", folder=str(given))
        cache = Cache(given, limit)
        stack.callback(cache.close)
        if folder is not None and not is_guarded(locate(cache.folder)):
            log.warning(
                "other users can replace files in the cache folder, which are trained on",
                folder=str(given),
                hint="Name a --cache of your own, by a path without symbolic links.",
            )
        yield cache


def _of_application() -> Path | None:
    """Return the application's local folder with the most room; None outside of YARN."""
    named = [Path(each) for each in os.environ.get("LOCAL_DIRS", "").split(",") if each]
    usable = [each for each in named if each.is_dir() and os.access(each, os.W_OK)]
    if not usable:
        return None
    return max(usable, key=lambda each: shutil.disk_usage(each).free) / "audioloom-shards"
