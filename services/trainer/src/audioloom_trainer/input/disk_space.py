"""Make room for a copy on a disk that other programs fill too: evict copies, then wait."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import structlog

from audioloom_trainer.errors import DiskFull
from audioloom_trainer.runtime.retry import pauses

log = structlog.get_logger()

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


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
    while not path.exists() and _free(folder) < needed and evict():
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
                    found=f"{_free(folder)} ({error.strerror})",
                    hint="Make room there, or name a folder on another disk with --cache; the"
                    " copies of this worker that are not in use have given way already. Then run"
                    " again.",
                ) from error
            log.warning(
                "the disk of the cache is full, retrying",
                folder=str(folder),
                free=_free(folder),
                needed=needed,
                wait_s=pause,
            )
            wait(pause)


def allocate(descriptor: int, size: int) -> None:
    """Give a new file its blocks before the first write, where its file system can.

    Raises:
        OSError: there is no room.
    """
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno in _FULL:
            raise


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free
