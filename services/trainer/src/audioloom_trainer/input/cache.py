"""The folder for copies of shards on local disk, which are named by their content.

Each process locks a folder of its own below the cache, and the lock ends with the process. So the
workers of a machine may share a cache. A copy of an earlier attempt is verified and used again,
but only if no other user can write it: another user could change it after the verification.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_stage.temporary_folder import temporary_folder
from audioloom_storage import is_guarded, is_own, locate

from audioloom_trainer.shards.shard_set import Shard, ShardSet

log = structlog.get_logger()

_OURS = re.compile(r"[0-9a-f]{64}\.(tfrecord|npy)(\.part)?")
_MOST_WORKERS = 1024


class Cache:
    """A folder of at most *limit* bytes that only this process uses, below *folder*."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self.folder, self._lock = _own_folder(folder)
        self.sizes: dict[str, int] = {}
        """Bytes of each copy, of a shard and its index together, by the shard's SHA-256."""

    @property
    def used(self) -> int:
        """Bytes of all copies."""
        return sum(self.sizes.values())

    def paths(self, sha256: str) -> tuple[Path, Path]:
        """Return the paths for the copies of a shard and its index, which may not exist."""
        return self.folder / f"{sha256}.tfrecord", self.folder / f"{sha256}.npy"

    def keep_only(self, wanted: Iterable[Shard]) -> None:
        """Remove the files of earlier runs, except the copies of the shards in *wanted*."""
        kept = {path: shard.sha256 for shard in wanted for path in self.paths(shard.sha256)}
        for path in self.folder.iterdir():
            if path in kept:
                size = self.sizes.get(kept[path], 0) + path.lstat().st_size
                self.sizes[kept[path]] = size
            elif _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def remove(self, sha256: str) -> None:
        """Remove the copies of a shard and its index."""
        for path in self.paths(sha256):
            path.unlink(missing_ok=True)
        self.sizes.pop(sha256, None)

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
            given = stack.enter_context(temporary_folder("audioloom-shards-"))
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
    most = max(usable, key=lambda each: shutil.disk_usage(each).free, default=None)
    return most / "audioloom-shards" if most else None
