"""Containers of one row a recording, as Avro and Parquet are.

The content is the one column of bytes; the name is the column `path`, `name`, `file`, `key` or
`__key__`, else the number of the row. Rows are read in sequence, and a whole recording is held in
memory.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, TypeAlias

from audioloom_featurizer.containers.member import (
    Container,
    Content,
    Entry,
    NoRecordings,
    damages,
    whole_members,
)

_NAMES = ("path", "name", "file", "key", "__key__")

Row: TypeAlias = tuple[str | None, Content | None]
"""The name and the content of a row."""


class Rows(Container):
    """A container whose rows *read* yields; errors call the format *what*."""

    def __init__(
        self, read: Callable[[BinaryIO], Iterator[Row]], what: str, file: BinaryIO, size: int
    ) -> None:
        self._read, self._what, self._file, self._size = read, what, file, size

    def entries(self) -> Iterator[Entry]:
        """See `Container.entries`."""
        return whole_members(self._records(), self._size)

    def _records(self) -> Iterator[tuple[str, Content | None]]:
        with damages(self._what, Exception):  # the libraries raise many types
            for number, (name, content) in enumerate(self._read(self._file)):
                yield f"{number:09d}" if name is None else name, content


def columns(kinds: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the columns of the content and of the name, by the kind of each: bytes, text, other.

    Raises:
        NoRecordings: not exactly one column has bytes.
    """
    contents = [name for name, kind in kinds.items() if kind == "bytes"]
    if len(contents) != 1:
        found = ", ".join(contents) or "none"
        raise NoRecordings(f"columns of bytes: {found}; expected one")
    named = [name for name in _NAMES if kinds.get(name) == "text"]
    return contents[0], named[0] if named else None
