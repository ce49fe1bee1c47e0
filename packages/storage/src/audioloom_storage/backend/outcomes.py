"""The ways in which a commit can fail: the name is taken, the file is gone, or nobody can tell."""

from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    StorageError,
    Unavailable,
    UnknownOutcome,
)
from audioloom_storage.location import Location


def taken(target: Location, *, is_folder: bool) -> StorageError:
    """Return the error for a target that exists already and was left as it is."""
    if is_folder:
        return IsAFolder("a folder lies there", where=target, expected="a name that is free")
    return AlreadyExists("a file lies there, and none is ever replaced", where=target)


def gone(target: Location) -> Unavailable:
    """Return the error for an unfinished file of `target` that was removed; nothing appeared."""
    return Unavailable(
        "the unfinished file is gone, and cannot get its name",
        where=target,
        hint="See that nothing removes files while they are written (gc), then run again.",
    )


def unknown(found: str, target: Location) -> UnknownOutcome:
    """Return the error for a storage that failed while the file got its name."""
    return UnknownOutcome(
        found,
        where=target,
        hint="Look whether it is there, and whose it is, before running again; the same command"
        " looks first, and says that it is done or goes on.",
    )
