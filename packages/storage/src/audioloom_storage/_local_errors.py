"""What the operating system answers, in this package's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NoSpace,
    NotAFolder,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
)
from audioloom_storage.location import Location

_KINDS: dict[int, tuple[type[StorageError], str]] = {
    errno.ENOENT: (NotFound, "Look at the path; a link may lead to what is gone."),
    errno.ELOOP: (NotFound, "A symbolic link leads back to itself: mend or remove it."),
    errno.EEXIST: (AlreadyExists, ""),
    errno.ENOTDIR: (NotAFolder, "A file stands where a folder should."),
    errno.EISDIR: (IsAFolder, ""),
    errno.EACCES: (PermissionDenied, "Ask the owner for access, or run as a user who has it."),
    errno.EPERM: (PermissionDenied, "Ask the owner for access, or run as a user who has it."),
    errno.EROFS: (PermissionDenied, "The file system is mounted read-only: choose another folder."),
    errno.ENOSPC: (NoSpace, "Free some space or choose another folder, then run again."),
    errno.EDQUOT: (NoSpace, "Ask for a larger quota or choose another folder, then run again."),
    errno.EFBIG: (NoSpace, "Raise the limit on file sizes (ulimit -f) or choose another file system."),
    errno.ENAMETOOLONG: (UnsafePath, "Choose a shorter name."),
    errno.EMFILE: (Unavailable, "This process has too many files open: raise the limit (ulimit -n)."),
}
_OTHER = (Unavailable, "Nothing was published: see that the file system is well, then run again.")


def translate(error: OSError, location: Location) -> StorageError:
    """The same failure as an error of this package."""
    kind, hint = _KINDS.get(error.errno or 0, _OTHER)
    return kind(error.strerror or str(error), where=location, hint=hint)


@contextmanager
def told(location: Location) -> Iterator[None]:
    """Name the location in whatever the operating system refuses inside."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise translate(error, location) from error
