"""The operations of a storage on HDFS, by the requests that one of its clients can make."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry, Holder, Writer
from audioloom_storage.backend.staged_sink import StagedSink
from audioloom_storage.errors import AlreadyExists, IsAFolder, NotAFolder, NotFound
from audioloom_storage.location import Location
from audioloom_storage.remote.commit import commit
from audioloom_storage.remote.retry import Retry


@dataclass(frozen=True, slots=True)
class Status:
    """What a NameNode tells of a file or a folder.

    Args:
        size: bytes; 0 for a folder.
        modified_ns: last change, nanoseconds since 1970-01-01 UTC.
        is_folder: it is a folder. HDFS as it comes has no links.
        owner: whose it is.
        mode: who may do what; with an ACL the bits for the group are its mask.
    """

    size: int
    modified_ns: int
    is_folder: bool
    owner: str
    mode: int

    def entry(self, location: Location) -> Entry:
        """What a listing knows of it."""
        return Entry(location, self.size, self.modified_ns, self.is_folder)


class HadoopBackend(ABC):
    """A `Backend`, but for the requests that each client makes in its own way.

    No link can lie *within* a folder of HDFS, and a path is a folder's identity.
    """

    @abstractmethod
    def retry(self, location: Location) -> Retry:
        """How long to wait for the cluster of a location."""

    @abstractmethod
    def user(self, location: Location) -> str:
        """Whom the cluster takes this process for; "" where it does not say."""

    @abstractmethod
    def status(self, location: Location) -> Status:
        """Raise NotFound where nothing lies."""

    @abstractmethod
    def statuses(self, location: Location) -> list[tuple[str, Status]]:
        """What lies in a folder, by name; of a file, the file alone, by no name."""

    @abstractmethod
    def set_permissions(self, location: Location, mode: int) -> None:
        """Change them. Only the owner may."""

    @abstractmethod
    def make_folders(self, location: Location, *, private: bool) -> None:
        """Make a folder and its parents, all with the same permissions."""

    @abstractmethod
    def delete(self, location: Location, *, recursive: bool = False) -> bool:
        """Delete for good. False where nothing lies; raise IsAFolder where it holds something."""

    @abstractmethod
    def rename(self, temporary: Location, target: Location) -> None:
        """Rename once, as `commit` asks for it."""

    @abstractmethod
    def check_rename(self, temporary: Location, target: Location) -> None:
        """Raise NotConfigured where a rename might replace something."""

    @abstractmethod
    def start(self, temporary: Location, *, private: bool) -> Writer:
        """Open an unfinished file for writing, as `StagedSink` asks for it."""

    @abstractmethod
    def open_read(self, location: Location) -> BinaryIO:
        """Open a file for reading."""

    def stat(self, location: Location) -> Entry:
        """One entry."""
        return self.status(location).entry(location)

    def permissions(self, location: Location) -> int:
        """As the NameNode tells."""
        return self.status(location).mode

    def holder(self, location: Location) -> Holder:
        """As the NameNode tells."""
        found = self.status(location)
        return Holder(found.owner, self.user(location), found.mode)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """All that the NameNode tells, in an order of its own, then sorted."""
        found = self.statuses(location)
        if len(found) == 1 and not found[0][0]:
            raise NotAFolder("a file lies there", where=location, expected="a folder")
        found.sort(key=lambda named: named[0])
        return (status.entry(location.child(name)) for name, status in found)

    def folder_identity(self, location: Location) -> Hashable:
        """The path: there are no links."""
        return location

    def create(self, location: Location, *, private: bool) -> StagedSink:
        """By a rename that does not replace, and never moves into a folder."""

        def finish(temporary: Location, target: Location, size: int) -> None:
            self.check_rename(temporary, target)
            commit(temporary, target, size, self.rename, self.stat, self.retry(target))

        return StagedSink(
            location,
            start=lambda temporary: self.start(temporary, private=private),
            commit=finish,
            remove=self.remove,
        )

    def make_folder(self, location: Location, *, private: bool) -> None:
        """In one call; a private one in two, for its parents get the permissions of the folder."""
        if private:
            self.make_folder(location.parent, private=False)
        try:
            self.make_folders(location, private=private)
        except AlreadyExists as error:
            raise NotAFolder("no folder lies there", where=location) from error

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        """For good: nothing goes to the trash."""
        del within
        if self.status(location).is_folder:  # HDFS would remove an empty one
            raise IsAFolder("a folder lies there", where=location, expected="a file")
        if not self.delete(location):
            raise NotFound("it was removed by somebody else", where=location)

    def remove_tree(self, location: Location, *, within: Location | None = None) -> None:
        """In one call, for good."""
        del within
        self._check_folder(location)
        step(Step.REMOVE, location)
        if not self.delete(location, recursive=True):
            raise NotFound("it was removed by somebody else", where=location)

    def remove_empty_folder(self, location: Location, *, within: Location | None = None) -> bool:
        """In one call, which removes no folder that holds something."""
        del within
        self._check_folder(location)
        try:
            return self.delete(location)
        except IsAFolder:  # it holds something
            return False

    def _check_folder(self, location: Location) -> None:
        if not self.status(location).is_folder:  # HDFS would remove a file
            raise NotAFolder("a file lies there", where=location, expected="a folder")
