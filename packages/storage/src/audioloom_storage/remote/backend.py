"""The operations of a storage on HDFS, built on the requests of one of its clients."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry, Holder
from audioloom_storage.backend.staged_sink import StagedBackend
from audioloom_storage.errors import AlreadyExists, IsAFolder, NotAFolder, NotFound
from audioloom_storage.location import Location
from audioloom_storage.remote.commit import commit
from audioloom_storage.remote.retry import Client, Connection, T


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a file or a folder, from a NameNode, whose fields are those of `Entry`.

    With an ACL the bits of *mode* for the group are its mask. HDFS by default has no links.
    """

    size: int
    modified_ns: int
    is_folder: bool
    owner: str
    mode: int

    def entry(self, location: Location) -> Entry:
        """The status as an entry of a listing."""
        return Entry(location, self.size, self.modified_ns, self.is_folder, mode=self.mode)


class HadoopBackend(StagedBackend, ABC, Generic[Client]):
    """A `Backend` without the requests that each client makes in its own way.

    No link can lie *within* a folder of HDFS, and a path is a folder's identity.
    """

    def __init__(self, connection_to: Callable[[Location], Connection[Client]]) -> None:
        self.connection = connection_to

    @abstractmethod
    def user(self, location: Location) -> str:
        """Return the cluster's name for the user of this process; "" where it does not say."""

    @abstractmethod
    def status(self, location: Location) -> Status:
        """Return the status. Raise NotFound where nothing lies."""

    @abstractmethod
    def statuses(self, location: Location) -> list[tuple[str, Status]]:
        """Return the statuses in a folder by name; for a file, its own status under the name ""."""

    @abstractmethod
    def make_folders(self, location: Location, *, private: bool) -> None:
        """Make a folder and its parents, all with the same permissions."""

    @abstractmethod
    def delete(self, location: Location, *, recursive: bool = False) -> bool:
        """Delete for good. Return False where nothing lies; raise IsAFolder if it is not empty."""

    @abstractmethod
    def rename(self, temporary: Location, target: Location) -> None:
        """Rename once, as `commit` requires."""

    def ask(self, location: Location, ask: Callable[[Client], T], *, looking: bool = False) -> T:
        """Ask a question as `Connection.call` does."""
        return self.connection(location).call(location, ask, looking=looking)

    def stat(self, location: Location) -> Entry:
        """Describe one entry."""
        return self.status(location).entry(location)

    def holder(self, location: Location) -> Holder:
        """Return owner and permissions from the NameNode."""
        found = self.status(location)
        return Holder(found.owner, self.user(location), found.mode)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """Read all entries from the NameNode, whose order is its own, then sort them."""
        found = self.statuses(location)
        if len(found) == 1 and not found[0][0]:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        found.sort(key=lambda named: named[0])
        return (status.entry(location.child(name)) for name, status in found)

    def folder_identity(self, location: Location) -> Hashable:
        """Return the path, because HDFS has no links."""
        return location

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
        except AlreadyExists as error:
            raise NotAFolder("no folder lies there", where=location) from error

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        """Remove for good: nothing goes to the trash."""
        if self.status(location).is_folder:  # HDFS would remove an empty folder
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        if not self.delete(location):
            raise NotFound("it was removed by somebody else", where=location)

    def remove_tree(self, location: Location, *, within: Location | None = None) -> None:
        """Remove in one call, for good."""
        self._check_folder(location)
        step(Step.REMOVE, location)
        if not self.delete(location, recursive=True):
            raise NotFound("it was removed by somebody else", where=location)

    def remove_empty_folder(self, location: Location, *, within: Location | None = None) -> bool:
        """Remove in one call, which removes no folder that holds something."""
        self._check_folder(location)
        try:
            return self.delete(location)
        except IsAFolder:  # the folder holds something
            return False

    def _check_folder(self, location: Location) -> None:
        if not self.status(location).is_folder:  # HDFS would remove a file
            raise NotAFolder("a file lies there", where=location, expected="a folder")
