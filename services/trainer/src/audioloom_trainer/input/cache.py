"""Verified copies of shards on local disk, named by their content, and the folder they lie in.

One process owns a folder below the cache, by a lock that ends with the process; so several workers
of a machine may be given the same cache. A copy of an earlier try is used again after it has been
verified again, if this user alone can write it: others could change it afterwards.
"""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_manifest import Uncompressed
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.compression import decompressed
from audioloom_storage import is_guarded, locate, open_read

from audioloom_trainer.errors import ShardMismatch
from audioloom_trainer.runtime.retry import with_retries
from audioloom_trainer.shards.shard_set import FileRef, ShardSet

_BLOCK = 256 << 10
_OURS = re.compile(r"[0-9a-f]{64}\.(tfrecord|npy)(\.part)?")
_MOST_WORKERS = 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Cache:
    """A folder of this process alone, below *folder*.

    Args:
        folder: on local disk; made when it is missing.
        limit: bytes that may lie in it.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self.folder, self._lock = _own_folder(folder)
        self._left: dict[str, int] = {}

    def path(self, file: FileRef, suffix: str) -> Path:
        """Where the copy of *file* lies, or will."""
        return self.folder / f"{file.content.sha256}{suffix}"

    def keep_only(self, wanted: set[str]) -> None:
        """Remove what earlier runs left here, but for files of the names in *wanted*."""
        for path in self.folder.iterdir():
            if path.name in wanted:
                self._left[path.name] = path.stat().st_size
            elif _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    @property
    def left(self) -> int:
        """Bytes that earlier runs left here and that nobody has claimed yet."""
        return sum(self._left.values())

    def claim(self, *paths: Path) -> None:
        """Count these files no more as left: whoever claims them counts them from now on."""
        for path in paths:
            self._left.pop(path.name, None)

    def give_way(self) -> bool:
        """Remove one of the files that were left; False when there is none."""
        if not self._left:
            return False
        name, _ = self._left.popitem()
        (self.folder / name).unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Give the folder up; the copies stay for the next run."""
        self._lock.close()


def _own_folder(folder: Path) -> tuple[Path, BinaryIO]:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_MOST_WORKERS):
        mine = folder / f"worker-{number}"
        try:
            mine.mkdir(mode=0o700)
        except FileExistsError:
            if not is_own(mine, stat.S_IFDIR):
                continue  # others put there what they like: a link to what is not to be touched
        else:
            if not is_own(mine, stat.S_IFDIR):
                raise OSError(f"{mine}: others may write what was made there for this user alone")
        lock = (mine / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return mine, lock
    raise OSError(f"{folder}: {_MOST_WORKERS} processes or other users use this cache already")


def is_own(path: Path, kind: int) -> bool:
    """Whether something of that kind lies there that this user alone may write. A link never is."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    ours = stat.S_IFMT(found.st_mode) == kind and found.st_uid == os.geteuid()
    return ours and not found.st_mode & 0o022


def verified_copy(file: FileRef, target: Path) -> None:
    """Copy *file* to *target*, unpacked, while taking its checksums: only what is right appears.

    A copy that is there already is verified instead, and made again when it is damaged, or when
    others could damage it.

    Args:
        file: what to copy.
        target: a path on local disk.

    Raises:
        ShardMismatch: the file's size or checksum is not what the manifest says.
        StorageError: storage failed for longer than the retries.
        OSError: the local disk failed; nothing of the copy stays.
    """
    if is_own(target, stat.S_IFREG):
        with target.open("rb") as source:
            if _sha256(source) == (file.content.bytes, file.content.sha256):
                return
    target.unlink(missing_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        with_retries(lambda: _copy(file, part))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def verify_in_place(file: FileRef) -> None:
    """Read *file* where it lies and hold it against the manifest; raises as `verified_copy`."""

    def read() -> None:
        with open_read(file.location) as source:
            _check_size(file, source)
            _check(file, *_sha256(source))

    with_retries(read)


def _copy(file: FileRef, part: Path) -> None:
    part.unlink(missing_ok=True)  # never written into: it may be a link
    with open_read(file.location) as source, os.fdopen(os.open(part, _NEW, 0o600), "wb") as sink:
        _check_size(file, source)
        if file.uncompressed is None:
            _check(file, *_sha256(source, sink.write))
        else:
            _unpack(file, file.uncompressed, source, sink)


def _unpack(file: FileRef, wanted: Uncompressed, source: BinaryIO, sink: BinaryIO) -> None:
    plain, blocks = hashlib.sha256(), _Blocks(source)
    try:
        for piece in decompressed(blocks, file.compression, wanted.bytes):
            plain.update(piece)
            sink.write(piece)
    except RecordError as error:
        expected = f"a {file.compression} stream of {wanted.bytes} bytes"
        raise _mismatch(file, expected, str(error)) from None
    _check(file, *blocks.seen())
    if plain.hexdigest() != wanted.sha256:
        expected = f"a stream that unpacks to SHA-256 {wanted.sha256}"
        raise _mismatch(file, expected, plain.hexdigest())


def _check_size(file: FileRef, source: BinaryIO) -> None:
    size = source.seek(0, os.SEEK_END)  # known since it was opened: the NameNode is asked once
    source.seek(0)
    if size != file.bytes:
        raise _mismatch(file, f"{file.bytes} bytes", f"{size}")


def _check(file: FileRef, size: int, sha256: str) -> None:
    if (size, sha256) != (file.bytes, file.sha256):
        expected = f"{file.bytes} bytes with SHA-256 {file.sha256}"
        raise _mismatch(file, expected, f"{size} bytes with {sha256}")


class _Blocks:
    """The blocks of a file, counted and digested as they are taken."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._sha256 = hashlib.sha256()
        self._size = 0

    def __iter__(self) -> Iterator[memoryview]:
        # One buffer for all blocks: for new ones the kernel may have to find pages each time.
        buffer = memoryview(bytearray(_BLOCK))
        while count := self._source.readinto(buffer):  # type: ignore[attr-defined] # it is buffered
            block = buffer[:count]
            self._sha256.update(block)
            self._size += count
            yield block

    def seen(self) -> tuple[int, str]:
        """Size and SHA-256 of all blocks."""
        return self._size, self._sha256.hexdigest()


def _sha256(source: BinaryIO, sink: Callable[[memoryview], object] = len) -> tuple[int, str]:
    blocks = _Blocks(source)
    for block in blocks:
        sink(block)
    return blocks.seen()


def _mismatch(file: FileRef, expected: str, found: str) -> ShardMismatch:
    return ShardMismatch(
        where=file.location,
        expected=expected,
        found=found,
        hint="The shard was cut short or changed after its commit: copy it again, or delete the"
        " run of the sharder and rerun it.",
    )


def readable_in_place(file: FileRef) -> bool:
    """Whether a file lies on a mounted file system, and as it is read."""
    return file.location.scheme == "file" and file.uncompressed is None


def local_path(file: FileRef) -> Path:
    """The path of a file that can be read in place."""
    return Path(os.fsdecode(file.location.path))


log = structlog.get_logger()


@contextmanager
def open_cache(
    shard_set: ShardSet,
    folder: str | None,
    limit: int,
    variables: Mapping[str, str] = os.environ,
) -> Iterator[Cache | None]:
    """The cache of this process, or None where all shards can be read in place.

    Args:
        shard_set: what is to be read.
        folder: the one that was asked for. Without it, shards that lie on no file system, or are
            compressed, are copied to the application's local folder in a YARN container (it ends
            with the application, so a restarted worker finds them again), elsewhere to a temporary
            one.
        limit: bytes that may lie in it.
        variables: of this process.
    """
    if folder is None and _all_in_place(shard_set):
        yield None
        return
    given = Path(folder).expanduser().absolute() if folder else _of_application(variables)
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


def _all_in_place(shard_set: ShardSet) -> bool:
    shards = [shard for split in shard_set.splits.values() for shard in split.shards]
    return all(readable_in_place(file) for shard in shards for file in (shard.data, shard.index))


def _of_application(variables: Mapping[str, str]) -> Path | None:
    """The roomiest of the local folders that YARN gives an application, None outside of YARN."""
    named = [Path(each) for each in variables.get("LOCAL_DIRS", "").split(",") if each]
    usable = [each for each in named if each.is_dir() and os.access(each, os.W_OK)]
    if not usable:
        return None
    return max(usable, key=lambda each: shutil.disk_usage(each).free) / "audioloom-shards"
