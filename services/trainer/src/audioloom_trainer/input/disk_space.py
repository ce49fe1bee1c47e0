"""Make room for a copy on a disk that other programs fill too: evict copies, then wait."""

import errno
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
    wait: Callable[[float], bool],
) -> bool:
    """Run *copy* and make room until it succeeds; False if staging ended first.

    Args:
        copy: makes the copy; on a failure it leaves nothing behind.
        path: the path of the copy.
        needed: bytes of the copy.
        evict: removes another copy; False if all copies are needed.
        wait: waits for a release, for at most the given seconds; False if staging has ended.

    Raises:
        DiskFull: there was no room until the retry limit.
    """
    folder, left = path.parent, pauses()
    # The free space ignores quotas and other writers, so the copy may still fail for room.
    while not path.exists() and _free(folder) < needed and evict():
        pass
    while True:
        try:
            copy()
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
            if not wait(pause):
                return False
        else:
            return True


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free
