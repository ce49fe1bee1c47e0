"""Failures of the local disk, as errors of the sharder."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from audioloom_sharder.errors import DiskFull


def temporary_file() -> BinaryIO:
    """Open a local file without a name."""
    return tempfile.TemporaryFile(prefix="audioloom-sharder-")


@contextmanager
def disk_full_as_error(size: int, content: str) -> Iterator[None]:
    """Say that the disk is full if a write of *content*, *size* bytes in all, fails.

    Raises:
        DiskFull: the block raised OSError.
    """
    try:
        yield
    except OSError as error:
        raise DiskFull(
            f"the local disk has no room for {content}",
            where=tempfile.gettempdir(),
            expected=f"{size:,} bytes",
            found=str(error),
            hint="Point TMPDIR to a larger disk, or work on fewer units at once: fewer"
            " --executor-cores on YARN, a smaller N of --master local[N] on this machine.",
        ) from error
