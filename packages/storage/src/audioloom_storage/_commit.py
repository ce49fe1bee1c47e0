"""The commit on HDFS: a rename that cannot replace, and what to make of one without an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from audioloom_storage._backends import Entry
from audioloom_storage._patience import Outage
from audioloom_storage.errors import (
    AlreadyExists,
    IsAFolder,
    NotFound,
    StorageError,
    Unavailable,
    UnknownOutcome,
)
from audioloom_storage.location import Location


@dataclass(frozen=True)
class Calls:
    """The three calls that a commit makes.

    Args:
        rename: without replacing, and never into a folder. Outage: it may have been done.
        remove: answers whether a file was there.
        stat: raises NotFound.
    """

    rename: Callable[[Location, Location], None]
    remove: Callable[[Location], bool]
    stat: Callable[[Location], Entry]


def commit(temporary: Location, target: Location, calls: Calls) -> None:
    """Give the file its name, and replace nothing.

    Raises:
        AlreadyExists, IsAFolder: something lies there.
        UnknownOutcome: the cluster went away in the middle, and did not come back in time.
        StorageError: it did not appear.
    """
    before = calls.stat(temporary)
    try:
        calls.rename(temporary, target)
    except (Outage, NotFound) as error:
        # NotFound as well: a request that was repeated on the way finds its own work done.
        _judge(error, before, target, calls)
    except StorageError as error:
        _raise_taken(target, calls, error)
        raise


def _judge(error: StorageError, before: Entry, target: Location, calls: Calls) -> None:
    """Find out what happened. Returns when the file has its name all the same."""
    try:
        # Nobody else knows the temporary name. As long as it can be removed the rename has not been
        # done, and once it is removed it never will be, even if it still waits in some queue.
        removed = calls.remove(before.location)
        after = None if removed else _stat_or_none(target, calls)
    except StorageError as blind:
        raise _unknown(error, target) from blind
    if removed or (after is None and not isinstance(error, Outage)):
        raise _not_published(error, target) from error
    if after is None:
        raise _unknown(error, target) from error
    if (after.size, after.modified_ns, after.is_folder) == (before.size, before.modified_ns, False):
        return  # renaming keeps both
    _raise_taken(target, calls, error)


def _stat_or_none(location: Location, calls: Calls) -> Entry | None:
    try:
        return calls.stat(location)
    except NotFound:
        return None


def _raise_taken(target: Location, calls: Calls, error: StorageError) -> None:
    if isinstance(error, AlreadyExists) or type(error) in (Unavailable, NotFound, Outage):
        try:
            found = calls.stat(target)
        except StorageError:
            return
        if found.is_folder:
            raise IsAFolder(
                "a folder lies there", where=target, expected="a name that is free"
            ) from error
        raise AlreadyExists("a file lies there, and none is ever replaced", where=target) from error


def _not_published(error: StorageError, target: Location) -> Unavailable:
    return Unavailable(
        f"the cluster failed while the file got its name, and it did not get it: {error.found}",
        where=target,
        hint="Run again.",
    )


def _unknown(error: StorageError, target: Location) -> UnknownOutcome:
    return UnknownOutcome(
        f"the cluster went away while the file got its name: {error.found}",
        where=target,
        hint="Look whether it is there, and whose it is, before running again.",
    )
