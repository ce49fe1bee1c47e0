"""The interface that every storage implements, and the values that it returns."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from audioloom_storage.location import Location


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder in a listing.

    Args:
        location: where the entry lies.
        size: bytes; 0 for a folder.
        modified_ns: last change, nanoseconds since 1970-01-01 UTC.
        is_folder: a folder, or a link to one.
        is_link: a symbolic link, whatever it leads to.
        mode: permissions as for `chmod`: 0o644; 0o777 for a link itself.
        owner: the owner's name, as the storage spells it; "" where an object has none.
    """

    location: Location
    size: int
    modified_ns: int
    is_folder: bool
    is_link: bool = False
    mode: int = 0
    owner: str = ""


class Writer(Protocol):
    """A file that is open for writing; bytes are appended in order."""

    def write(self, data: memoryview) -> int:
        """Take some of the bytes, and return how many."""

    def finish(self) -> None:
        """Take no more bytes; once it returns, the bytes taken survive a power cut."""

    def abandon(self) -> None:
        """Close without a promise. Must not raise, and may be called at any time."""


class Sink(Writer, Protocol):
    """A new file, which appears when it is committed.

    Abandoning removes the bytes written, as far as possible, with a step before the removal. A sink
    is never abandoned after an unknown outcome: the file that lies there may be the only copy.
    """

    def commit(self) -> None:
        """Let the finished file appear atomically. Raise AlreadyExists rather than replace.

        When it returns, the name survives a power cut. Raises UnknownOutcome where the storage
        cannot tell whether the name is taken by this very file.
        """


class Backend(Protocol):
    """The interface of a storage. It raises a `StorageError` for whatever the storage refuses."""

    def stat(self, location: Location) -> Entry:
        """Describe an entry. Raise NotFound if it is missing, or if a link leads nowhere."""

    def lstat(self, location: Location) -> Entry:
        """Describe the entry itself, following no link. Raise NotFound if it is missing."""

    def user(self, location: Location) -> str:
        """Return the storage's name for the user of this process; "" where it does not say."""

    def set_permissions(self, location: Location, mode: int) -> None:
        """Change the permissions. Raise PermissionDenied if the entry belongs to another user."""

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """List a folder sorted by name; errors are raised when called, not when iterated."""

    def folder_identity(self, location: Location) -> Hashable:
        """Return a value that is equal for two locations of one folder, reached through links."""

    def open_read(self, location: Location) -> BinaryIO:
        """Open a file for reading, seekable and buffered; its failures are StorageErrors."""

    def create(self, location: Location, *, private: bool, replication: int | None) -> Sink:
        """Start a new file. Raise NotFound where its folder is missing.

        HDFS keeps *replication* copies of each block, or the usual number. Others pass it over.

        A private file is never there without its permissions (0600), finished or not.
        """

    def make_folder(self, location: Location, *, private: bool) -> None:
        """Make a folder and its parents; it may exist.

        A private folder is never there without its permissions (0700); its parents get the usual.
        """

    def remove(self, location: Location, *, within: Location | None) -> None:
        """Remove a file or a link; raise NotAFolder where a folder below *within* is a link."""

    def remove_empty_folder(self, location: Location, *, within: Location | None) -> bool:
        """Return False if the folder is missing or not empty; raise NotAFolder as `remove` does."""
