"""Commit on HDFS: a rename that cannot replace, repeated if its answer is lost."""

from collections.abc import Callable

from audioloom_storage import errors
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.location import Location
from audioloom_storage.remote.retry import Busy, Outage, Retry

Rename = Callable[[Location, Location], None]
Stat = Callable[[Location], Entry]


def commit(
    temporary: Location, target: Location, size: int, rename: Rename, stat: Stat, retry: Retry
) -> None:
    """Give the file its name without replacing anything.

    A rename without an answer is simply repeated: nobody else knows the temporary name, so the
    file is renamed once, by whichever request comes first, and the others find nothing to rename.

    Args:
        temporary: the unfinished file, closed and complete, in the folder of the target.
        target: its final name.
        size: bytes that were written. Another size means that a late request has replaced the
            unfinished file.
        rename: renames once, without replacing, and never into a folder. After an Outage the rename
            may have been done.
        stat: describes an entry; raises NotFound.
        retry: how long to repeat.

    Raises:
        StorageError: as `Sink.commit` says; UnknownOutcome if the cluster does not come back.
    """
    before = stat(temporary)
    if before.size != size:
        raise errors.Unavailable(
            f"the unfinished file has {before.size} bytes",
            where=target,
            expected=f"the {size} bytes that were written",
            hint="Run again.",
        )
    try:
        retry.run(lambda: rename(temporary, target))
    except errors.NotFound as error:
        _raise_unless_ours(before, target, stat, error)
    except errors.StorageError as error:
        if error.unanswered and isinstance(error, (Outage, Busy)):
            raise _unknown(error, target) from error
        if isinstance(error, errors.AlreadyExists) or type(error) is errors.Unavailable:
            _raise_taken(target, stat, error)
        raise


def _raise_unless_ours(before: Entry, target: Location, stat: Stat, error: errors.NotFound) -> None:
    try:
        found = stat(target)
    except errors.NotFound:
        raise errors.gone(target) from error
    except errors.StorageError as blind:
        raise _unknown(blind, target) from error
    # Renaming keeps size and time.
    if (found.size, found.modified_ns, found.is_folder) != (before.size, before.modified_ns, False):
        raise errors.taken(found.location, is_folder=found.is_folder)


def _raise_taken(target: Location, stat: Stat, error: errors.StorageError) -> None:
    # Hadoop refuses a folder as target in words that have changed over the years.
    try:
        found = stat(target)
    except errors.StorageError:
        return
    raise errors.taken(found.location, is_folder=found.is_folder) from error


def _unknown(error: errors.StorageError, target: Location) -> errors.UnknownOutcome:
    return errors.unknown(
        f"the cluster went away while the file got its name: {error.found}", target
    )
