"""A member of a container, the interface of all formats, and limits for hostile files."""

import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO, TypeAlias

from audioloom_storage import StorageError

MOST_MEMBERS = 10_000_000
MOST_NAME_BYTES = 4096
MOST_READ_BYTES = 256 << 20
"""Bytes that a library may ask for at once: headers and tables of contents are smaller."""

MOST_EXPANSION = 1000
"""How many times larger than the container its members may be, beyond `FREE_BYTES`."""

FREE_BYTES = 1 << 30
PIECE_BYTES = 1 << 20

Content: TypeAlias = bytes | memoryview


class BadContainer(Exception):
    """A container does not hold what its format requires; the text says what was found."""


class NoRecordings(BadContainer):
    """The file is whole, and is no container of recordings."""


class Slice(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._start, self._size, self._place = file, start, size, 0

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes."""
        left = self._size - self._place
        self._file.seek(self._start + self._place)
        data = self._file.read(max(0, left if size < 0 else min(size, left)))
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position and return it."""
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place


@dataclass(frozen=True)
class Member:
    """A recording inside a container.

    Attributes:
        name: its name there: names joined by single slashes, none of them `.` or `..`.
        size: bytes of the recording.
        offset: place of these very bytes in the container, if they lie there in one piece.
    """

    name: str
    size: int
    offset: int | None = None


Entry: TypeAlias = tuple[Member | None, Iterator[Content]]
"""A member and its bytes in pieces; None is a member that is left out."""

LEFT_OUT: Entry = (None, iter(()))


class Container(ABC):
    """An open container; members are read by their offset, or by `unpack`.

    Attributes:
        left_out: links, encrypted members, names that lead outside and rows without content, as far
            as the members were listed.
    """

    left_out = 0

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """List the members in their order, and those that are left out.

        The bytes of a member can be read until the next member is asked for.

        Raises:
            BadContainer: the container is damaged from here on.
        """

    def members(self) -> Iterator[Member]:
        """List the members in their order, `MOST_MEMBERS` at most; see `entries`."""
        for number, (member, _) in enumerate(self.entries()):
            if number == MOST_MEMBERS:
                raise BadContainer(f"more than {MOST_MEMBERS} members")
            if member is None:
                self.left_out += 1
            else:
                yield member

    def unpack(self, wanted: Collection[str]) -> Iterator[tuple[str, Iterator[Content]]]:
        """Read members by their names, in the order of the container; see `entries`."""
        for each, content in self.entries():
            if each is not None and each.name in wanted:
                yield each.name, content


def whole_members(records: Iterable[tuple[str, Content | None]], size: int) -> Iterator[Entry]:
    """The entries of a container of *size* bytes whose *records* are read as a whole.

    Raises:
        BadContainer: one is larger than what is read at once, or all are much larger than the
            container.
    """
    total, most = 0, most_expanded(size)
    for name, content in records:
        if content is None or (safe := safe_name(name)) is None:
            yield LEFT_OUT
            continue
        check_size("a value of", len(content))
        total += len(content)
        if total > most:
            raise BadContainer("values that are much larger than the file")
        yield Member(safe, len(content)), iter((content,))


def check_size(what: str, size: int) -> None:
    """Raise `BadContainer` for more bytes than are read at once."""
    if size > MOST_READ_BYTES:
        most = f"{MOST_READ_BYTES >> 20} MiB"
        raise BadContainer(f"{what} {size} bytes, more than the {most} that are read")


@contextmanager
def damages(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Translate the errors of a format's library; those of the storage pass as they are.

    Raises:
        BadContainer: one of *errors* came; the text names *what* is damaged.
    """
    try:
        yield
    except (BadContainer, StorageError, MemoryError):
        raise
    except errors as error:
        if isinstance(error.__context__, StorageError):  # zipfile takes an OSError for no zip
            raise error.__context__ from None
        raise BadContainer(f"a damaged {what} ({str(error)[:200]})") from error


def safe_name(name: str) -> str | None:
    """The name without `.` and empty parts; None if it leads outside or cannot be a path."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    lies = name.startswith("/") or "\0" in name or "\\" in name or ".." in parts
    if lies or not parts or len(name.encode("utf-8", "replace")) > MOST_NAME_BYTES:
        return None
    # The name in a tar may hold bytes that are not UTF-8: `\xNN`, as in the listing of paths.
    return "/".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def pieces(file: IO[bytes], size: int, name: str) -> Iterator[bytes]:
    """Read exactly *size* bytes; raise `BadContainer` if there are fewer."""
    left = size
    while left:
        piece = file.read(min(left, PIECE_BYTES))
        if not piece:
            raise BadContainer(f"{name} has {size - left} bytes instead of {size}")
        left -= len(piece)
        yield piece


class CarefulFile(io.RawIOBase):
    """A file that refuses to read very much at once, and counts what is read.

    Libraries allocate what a header claims. The file stays open: it belongs to the caller.
    """

    def __init__(self, file: BinaryIO, most: int | None = None) -> None:
        self._file = file
        self._most = most
        self._taken = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read up to *size* bytes; raise `BadContainer` beyond the limit."""
        check_size("a header or value that claims", size)
        data = self._file.read(MOST_READ_BYTES + 1 if size < 0 else size)
        check_size("a header or value of at least", len(data))
        self._taken += len(data)
        if self._most is not None and self._taken > self._most:
            raise BadContainer(f"content that is more than {MOST_EXPANSION} times its size")
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move the position and return it."""
        return self._file.seek(offset, whence)

    def seekable(self) -> bool:
        """Libraries ask for it."""
        return True


def most_expanded(size: int) -> int:
    """How many bytes a container of that size may hold."""
    return FREE_BYTES + MOST_EXPANSION * size
