"""What a storage must do, and the values that it answers with."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from audioloom_storage.location import Location


@dataclass(frozen=True, slots=True)
class Entry:
    """What a listing knows of a file or a folder.

    Args:
        location: where it lies.
        size: bytes; 0 for a folder.
        modified_ns: last change, nanoseconds since 1970-01-01 UTC.
        is_folder: a folder, or a link to one.
        is_link: a symbolic link, whatever it leads to.
    """

    location: Location
    size: int
    modified_ns: int
    is_folder: bool
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a file or a folder.

    Args:
        owner: whose it is, as the storage calls them.
        user: whom the storage takes this process for; "" where it does not say.
        mode: who may do what, as `chmod` has it; 0o777 for a link.
    """

    owner: str
    user: str
    mode: int


class Writer(Protocol):
    """A file that is open for writing: its bytes go in, in order."""

    def write(self, data: memoryview) -> int:
        """Take some of the bytes, and say how many."""
        ...

    def finish(self) -> None:
        """Take no more bytes; once it returns, those taken outlive a power cut."""
        ...

    def abandon(self) -> None:
        """Close without a promise. Must not raise, and may be called after anything."""
        ...


class Sink(Writer, Protocol):
    """A new file, which appears when it is committed.

    To abandon it is to remove what was written, as far as that can be done, with a step before the
    removal. Nobody abandons it after an unknown outcome: what lies there may be the only copy.
    """

    def commit(self) -> None:
        """Let the finished file appear, indivisibly. Raise AlreadyExists rather than replace.

        When it returns, the name outlives a power cut. Raises UnknownOutcome where the storage
        cannot tell whether the name is taken by this very file.
        """
        ...


class Backend(Protocol):
    """What a storage must do. It raises `StorageError`s for whatever the storage refuses."""

    def stat(self, location: Location) -> Entry:
        """Raise NotFound where nothing lies, a parent is a file, or a link leads nowhere."""
        ...

    def permissions(self, location: Location) -> int:
        """Who may do what, as `chmod` has it: 0o644. Raises what `stat` raises."""
        ...

    def holder(self, location: Location) -> Holder:
        """Of the entry itself: no link is followed. Raise NotFound where nothing lies."""
        ...

    def set_permissions(self, location: Location, mode: int) -> None:
        """Raise PermissionDenied where it is another user's."""
        ...

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """Sorted by name; raises when called, not when iterated."""
        ...

    def folder_identity(self, location: Location) -> Hashable:
        """Equal for two locations that are one folder by way of links."""
        ...

    def open_read(self, location: Location) -> BinaryIO:
        """Seekable and buffered; its failures are StorageErrors too."""
        ...

    def create(self, location: Location, *, private: bool) -> Sink:
        """A file that is to appear at a free name. Raise NotFound where its folder is missing.

        A private file is never there without its permissions (0600), finished or not.
        """
        ...

    def make_folder(self, location: Location, *, private: bool) -> None:
        """With its parents; may exist. Private is the folder alone (0700), and from the start."""
        ...

    def remove(self, location: Location, *, within: Location | None) -> None:
        """Remove a file or a link; raise NotAFolder where a folder below *within* is a link."""
        ...

    def remove_tree(self, location: Location, *, within: Location | None) -> None:
        """Remove a folder with all it holds, following no link; take a step before each call."""
        ...

    def remove_empty_folder(self, location: Location, *, within: Location | None) -> bool:
        """False where it is not there or holds something; raise NotAFolder as `remove` does."""
        ...
