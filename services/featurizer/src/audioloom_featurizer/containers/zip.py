"""zip: members are decompressed one by one, in any order."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import BinaryIO

from audioloom_featurizer.containers.member import (
    BadContainer,
    CarefulFile,
    Content,
    Member,
    damages,
    most_expanded,
    pieces,
    safe_name,
)

_ENCRYPTED = 0x1
_LINK, _KIND = 0o120000, 0o170000
_damages = partial(
    damages,
    "zip",
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression that Python does not know
    RuntimeError,  # a password
    UnicodeError,
    ValueError,
    OverflowError,
)


class Zip:
    """A zip; its table of contents is read at once, and links in it are no recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._size = size
        with _damages():
            self._archive = zipfile.ZipFile(CarefulFile(file))
            entries = self._archive.infolist()
        self._entries = {
            name: entry
            for entry in entries
            if (name := safe_name(entry.filename)) is not None and _is_recording(entry)
        }

    def members(self) -> Iterator[Member]:
        """See `Container.members`."""
        total = sum(entry.file_size for entry in self._entries.values())
        if total > most_expanded(self._size):
            raise BadContainer(f"members of {total} bytes in a file of {self._size}")
        for name, entry in self._entries.items():
            yield Member(name, entry.file_size)

    def unpack(self, wanted: Mapping[str, int]) -> Iterator[tuple[str, Iterator[Content]]]:
        """See `Container.unpack`; any member is found at once."""
        for name in wanted:
            if (entry := self._entries.get(name)) is not None:
                yield name, self._content(entry, name)

    def _content(self, entry: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
        with _damages(), self._archive.open(entry) as content:
            yield from pieces(content, entry.file_size, name)
            if content.read(1):
                raise BadContainer(f"{name} has more than {entry.file_size} bytes")


def _is_recording(entry: zipfile.ZipInfo) -> bool:
    is_link = entry.external_attr >> 16 & _KIND == _LINK
    return not (entry.is_dir() or is_link or entry.flag_bits & _ENCRYPTED)
