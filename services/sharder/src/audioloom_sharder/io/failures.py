"""Failures of Arrow and of the local disk, as errors of the sharder."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa

from audioloom_sharder.errors import DiskFull


@contextmanager
def damage_as(error_of: Callable[[str], Exception]) -> Iterator[None]:
    """Raise *error_of* Arrow's text where it finds damage; errors of storage pass unchanged."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow raises OSError for damaged pages too, without a number; storage has its own types.
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise
        raise error_of(" ".join(str(error).split())[:300]) from error


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
            hint="Point TMPDIR to a larger disk, or use fewer --executor-cores.",
        ) from error
