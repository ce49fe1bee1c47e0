"""The operations of a storage on HDFS, built on the requests of one of its clients.

Its commit is a rename that cannot replace, repeated if its answer is lost.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic

from audioloom_storage import errors
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.backend.staged_sink import StagedBackend, StagedSink
from audioloom_storage.location import Location
from audioloom_storage.remote.errors import CopiesRefused
from audioloom_storage.remote.retry import Client, Connection, Retry, T

Rename = Callable[[Location, Location], None]
Stat = Callable[[Location], Entry]


class HadoopBackend(StagedBackend, ABC, Generic[Client]):
    """A `Backend` without the requests that each client makes in its own way.

    No link can lie *within* a folder of HDFS, and a path is a folder's identity.
    """

    def __init__(self, connection_to: Callable[[Location], Connection[Client]]) -> None:
        self.connection = connection_to

    @abstractmethod
    def statuses(self, location: Location) -> list[tuple[str, Any]]:
        """Return the statuses in a folder by name; for a file, its own status under the name ""."""

    @abstractmethod
    def entry(self, location: Location, status: Any) -> Entry:
        """Return a status, as the client has it, as an entry.

        With an ACL the bits of the mode for the group are its mask.
        """

    @abstractmethod
    def make_folders(self, location: Location, *, private: bool) -> None:
        """Make a folder and its parents, all with the same permissions."""

    @abstractmethod
    def delete(self, location: Location) -> bool:
        """Delete for good. Return False where nothing lies; raise IsAFolder if it is not empty."""

    @abstractmethod
    def rename(self, temporary: Location, target: Location) -> None:
        """Rename once, as `commit` requires."""

    def ask(self, location: Location, ask: Callable[[Client], T], *, looking: bool = False) -> T:
        """Ask a question as `Connection.call` does."""
        return self.connection(location).call(location, ask, looking=looking)

    def lstat(self, location: Location) -> Entry:
        """Describe one entry: HDFS by default has no links."""
        return self.stat(location)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """Read all entries from the NameNode, whose order is its own, then sort them."""
        found = self.statuses(location)
        if len(found) == 1 and not found[0][0]:
            raise errors.NotAFolder("a file lies there", where=location, expected="a folder")
        found.sort(key=lambda named: named[0])
        return (self.entry(location.child(name), status) for name, status in found)

    def folder_identity(self, location: Location) -> Hashable:
        """Return the path, because HDFS has no links."""
        return location

    def create(self, location: Location, *, private: bool, replication: int | None) -> StagedSink:
        """Start a file; with the usual copies if the cluster refuses to keep *replication*."""
        try:
            return super().create(location, private=private, replication=replication)
        except CopiesRefused:
            return super().create(location, private=private, replication=None)

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        """Rename, without replacing and without moving into a folder."""
        retry = self.connection(target).retry
        commit(temporary, target, size, self.rename, self.stat, retry)

    def make_folder(self, location: Location, *, private: bool) -> None:
        """Make a folder in one call, a private one in two: parents get the call's permissions."""
        if private:
            self.make_folder(location.parent, private=False)
        try:
            self.make_folders(location, private=private)
        except errors.AlreadyExists as error:
            raise errors.NotAFolder("no folder lies there", where=location) from error

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        """Remove for good: nothing goes to the trash."""
        if self.stat(location).is_folder:  # HDFS would remove an empty folder
            raise errors.IsAFolder("a folder lies there", where=location, expected="a file")
        if not self.delete(location):
            raise errors.NotFound("it was removed by somebody else", where=location)

    def remove_empty_folder(self, location: Location, *, within: Location | None = None) -> bool:
        """Remove in one call, which removes no folder that holds something."""
        if not self.stat(location).is_folder:  # HDFS would remove a file
            raise errors.NotAFolder("a file lies there", where=location, expected="a folder")
        try:
            return self.delete(location)
        except errors.IsAFolder:  # the folder holds something
            return False


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
        StorageError: as `Sink.commit` says; UnknownOutcome if the cluster does not come back, or
            refuses to repeat a rename whose answer was lost.
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
        # Before a name that is taken, HDFS reports that a file which was renamed is gone.
        if error.unanswered and not isinstance(error, (errors.AlreadyExists, errors.IsAFolder)):
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
