"""Choose where a run keeps its intermediate files: below its folder, or on local disk."""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from audioloom_storage import Location, locate

from audioloom_sharder.steps.job import WORK

MOST_LOCAL_BYTES = 4 << 30
"""Values of a run whose intermediate files may lie on local disk: a minute or two of work."""

_SPARE = 2
"""The free disk that a local folder needs, in sizes of the values."""

_PREFIX = "audioloom-sharder-work-"
_NEW_SECONDS = 60
"""A folder so young may be one that its run has not locked yet."""


@contextmanager
def work_folder(run: Location, values: int | None, master: str) -> Iterator[Location]:
    """Yield the folder of the intermediate files of a *run*.

    They would take the payload to a cluster or an object store and back once more. So a small run
    of one machine keeps them on local disk, and removes them at the end of the block. If it is
    killed, the next attempt makes them again; finished shards stay.

    Args:
        run: the run's folder.
        values: bytes of the values of all its records; None if they are not known yet.
        master: ``inline``, or a Spark master.
    """
    alone = master == "inline" or master.startswith("local")
    if run.scheme != "file" and alone and values is not None and _fits(values):
        _remove_left_folders()
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as made, _locked(Path(made)):
            yield locate(made)
    else:
        yield run / WORK


def _fits(values: int) -> bool:
    if values > MOST_LOCAL_BYTES:
        return False
    return _SPARE * values <= shutil.disk_usage(tempfile.gettempdir()).free


def _remove_left_folders() -> None:
    """Remove the folders of this user's runs that were killed: the lock ends with the process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, at work, or removed by another run
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
