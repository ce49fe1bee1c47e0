"""Room for a copy on a disk that others fill too: what may go gives way, then we wait."""

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from audioloom_trainer.errors import DiskFull
from audioloom_trainer.runtime.retry import pauses

log = structlog.get_logger()

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class DiskSpace:
    """Where room comes from.

    Args:
        evict: removes a copy; False where all are needed.
        wait: waits for something to be released, so many seconds at most; False at the end.
    """

    evict: Callable[[], bool]
    wait: Callable[[float], bool]

    def filled(self, copy: Callable[[], None], path: Path, needed: int) -> bool:
        """Copy, making room as it takes; False when the end came first.

        Args:
            copy: leaves nothing behind when it fails.
            path: what it makes.
            needed: bytes of that.

        Raises:
            DiskFull: there was no room, for as long as was waited.
        """
        folder, left = path.parent, pauses()
        # A quota is not in these figures, and others write too: what follows is needed as well.
        while not path.exists() and _free(folder) < needed and self.evict():
            pass
        while True:
            try:
                copy()
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                if self.evict():
                    continue
                pause = next(left, None)
                if pause is None:
                    raise _disk_full(path, needed, error) from error
                log.warning(
                    "the disk of the cache is full, retrying",
                    folder=str(folder),
                    free=_free(folder),
                    needed=needed,
                    wait_s=pause,
                )
                if not self.wait(pause):
                    return False
            else:
                return True


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _disk_full(path: Path, needed: int, error: OSError) -> DiskFull:
    return DiskFull(
        where=path.parent,
        expected=f"{needed} bytes free, for a copy of a shard",
        found=f"{_free(path.parent)} ({error.strerror})",
        hint="Make room there, or name a folder on another disk with --cache; the copies of this"
        " worker that are not in use have given way already. Then run again.",
    )
