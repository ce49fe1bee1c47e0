"""Translate errors of the operating system into errors of this package."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NoSpace,
    NotAFile,
    NotAFolder,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
)
from audioloom_storage.location import Location

# All of these mean that nothing was done. Any other number may come after the fact.
_REFUSALS: dict[int, tuple[type[StorageError], str]] = {
    errno.ENOENT: (NotFound, "Check the path; a link may lead to what is gone."),
    errno.ELOOP: (NotFound, "A symbolic link leads back to itself: repair or remove it."),
    errno.EEXIST: (AlreadyExists, "Nothing was replaced."),
    errno.ENOTDIR: (NotAFolder, "A file stands where a folder should."),
    errno.ENXIO: (NotAFile, "A socket or a device lies there: name a file."),
    errno.EISDIR: (IsAFolder, "Name a file in it."),
    errno.EACCES: (PermissionDenied, "Run as a user who may, or ask its owner for access."),
    errno.EPERM: (PermissionDenied, "Run as a user who may, or ask its owner for access."),
    errno.EROFS: (PermissionDenied, "It is mounted read-only: choose another folder."),
    errno.ENOSPC: (NoSpace, "Make space or choose another folder, then run again."),
    errno.EDQUOT: (NoSpace, "Ask for a larger quota or choose another folder, then run again."),
    errno.EFBIG: (NoSpace, "Raise the limit on file sizes (ulimit -f), then run again."),
    errno.ENAMETOOLONG: (UnsafePath, "Choose a shorter name."),
    errno.EMFILE: (Unavailable, "Raise the limit on open files (ulimit -n), then run again."),
}
_FAILURE = (Unavailable, "Check that the file system is healthy (dmesg), then run again.")


def is_refusal(error: OSError) -> bool:
    """Return whether the operating system refused before doing anything, rather than failed."""
    return error.errno in _REFUSALS


def translated(error: OSError, location: Location) -> StorageError:
    """Return an OSError as an error of this package."""
    kind, hint = _REFUSALS.get(error.errno or 0, _FAILURE)
    result = kind(error.strerror or str(error), where=location, hint=hint)
    if isinstance(result, OSError):
        result.errno = error.errno  # for callers that look for numbers
    return result


@contextmanager
def translating(location: Location, *, looking: bool = False) -> Iterator[None]:
    """Translate the errors of the operating system in the block, naming the location.

    Where it is *looking* for something, a parent that is no folder means "not found".
    """
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        if looking and isinstance(error, NotADirectoryError):
            raise NotFound("a file stands where a folder should", where=location) from error
        raise translated(error, location) from error
