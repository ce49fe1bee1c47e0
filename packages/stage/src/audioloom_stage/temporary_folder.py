"""Temporary folders that do not outlive a killed process for long: the next process removes them.

A process locks its folder, and the lock ends with the process, however it ends.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NEW_SECONDS = 60
"""A folder so young may be one that its process has not locked yet."""


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder, and remove it at the end of the block.

    Before that, the folders with this prefix that killed processes of this user left are removed.
    """
    _remove_left_folders(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix) as made, _locked(Path(made)):
        yield Path(made)


def _remove_left_folders(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another user's, in use, or removed by another process
            found = folder.lstat()
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            if ours and time.time() - found.st_mtime > _NEW_SECONDS:
                with _locked(folder):
                    shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder; BlockingIOError if another process has locked it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
