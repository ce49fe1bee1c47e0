"""Read zip: its table of contents at once, and its members one by one, in any order."""

import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterator
from functools import partial
from typing import BinaryIO

from audioloom_featurizer.containers.member import (
    LEFT_OUT,
    BadContainer,
    CarefulFile,
    Container,
    Content,
    Entry,
    Member,
    damages,
    most_expanded,
    pieces,
    safe_name,
)

_ENCRYPTED = 0x1
_LINK, _KIND = 0o120000, 0o170000
_zip_damages = partial(
    damages,
    "zip",
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,  # of bzip2
    EOFError,
    NotImplementedError,  # a compression that Python does not know
    RuntimeError,  # a password
    UnicodeError,
    ValueError,
    OverflowError,
)


class Zip(Container):
    """A zip; its table of contents is read at once, and links in it are no recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._size = size
        with _zip_damages():
            self._archive = zipfile.ZipFile(CarefulFile(file))
            entries = self._archive.infolist()
        self._named = [
            (safe_name(entry.filename) if _is_recording(entry) else None, entry)
            for entry in entries
            if not entry.is_dir()
        ]
        self._entries = {name: entry for name, entry in self._named if name is not None}

    def entries(self) -> Iterator[Entry]:
        """See `Container.entries`; of two members with one name both are listed."""
        total = sum(entry.file_size for name, entry in self._named if name is not None)
        if total > most_expanded(self._size):
            raise BadContainer(f"members of {total} bytes in a file of {self._size}")
        for name, entry in self._named:
            if name is None:
                yield LEFT_OUT
            else:
                yield Member(name, entry.file_size), self._content(entry, name)

    def unpack(self, wanted: Collection[str]) -> Iterator[tuple[str, Iterator[Content]]]:
        """See `Container.unpack`; any member is found at once."""
        for name in wanted:
            if (entry := self._entries.get(name)) is not None:
                yield name, self._content(entry, name)

    def _content(self, entry: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
        with _zip_damages(), self._archive.open(entry) as content:
            yield from pieces(content, entry.file_size, name)
            if content.read(1):
                raise BadContainer(f"{name} has more than {entry.file_size} bytes")


def _is_recording(entry: zipfile.ZipInfo) -> bool:
    is_link = entry.external_attr >> 16 & _KIND == _LINK
    return not (is_link or entry.flag_bits & _ENCRYPTED)
