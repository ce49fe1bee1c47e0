"""tar, tar.gz and zip.

Members of a plain tar are read by range, those of a tar.gz in sequence. Members of a zip are
decompressed one by one, in any order.
"""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from functools import partial
from tarfile import HeaderError
from typing import IO, Any, BinaryIO, Self, cast

from audioloom_featurizer.containers.member import (
    PIECE_BYTES,
    BadContainer,
    CarefulFile,
    Container,
    Content,
    Member,
    damages,
    most_expanded,
    pieces,
    safe_name,
)

_tar_damages = partial(
    damages,
    "tar",
    *(tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, ValueError),
)
_ENCRYPTED = 0x1
_LINK, _KIND = 0o120000, 0o170000
_zip_damages = partial(
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


class Tar(Container):
    """A tar, *packed* by gzip or plain; links, devices and sparse files are no recordings."""

    def __init__(self, file: BinaryIO, size: int, *, packed: bool) -> None:
        self._file, self._size, self._packed = file, size, packed

    def entries(self) -> Iterator[tuple[Member, Iterator[Content]]]:
        """See `Container.entries`."""
        self._file.seek(0)
        mode: Any = "r:"
        file = CarefulFile(self._file)
        if self._packed:
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", file)))
            file, mode = CarefulFile(unpacked, most_expanded(self._size)), "r|"
        opened = {"fileobj": cast("Any", file), "mode": mode, "tarinfo": _Entry, "errorlevel": 2}
        with _tar_damages(), tarfile.open(**opened) as archive:
            while (entry := archive.next()) is not None:
                cast("Any", archive).members.clear()  # they would grow with the container
                name = safe_name(entry.name)
                if name is not None and entry.isreg() and not entry.issparse():
                    place = None if self._packed else entry.offset_data
                    yield Member(name, entry.size, place), _content(archive, entry, name)
            if self._packed:
                while file.read(PIECE_BYTES):  # at its end the checksum is compared
                    pass


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo, name: str) -> Iterator[bytes]:
    with _tar_damages():
        yield from pieces(cast("IO[bytes]", archive.extractfile(entry)), entry.size, name)


class _Entry(tarfile.TarInfo):
    """An entry; the library takes a damaged header after the first for the end."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """Read the next entry."""
        try:
            return super().fromtarfile(tarfile)
        except HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # two blocks of zeros, as it should be
                raise
            raise BadContainer(
                f"no header of a member at byte {tarfile.offset} ({error})"
            ) from error


class Zip(Container):
    """A zip; its table of contents is read at once, and links in it are no recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._size = size
        with _zip_damages():
            self._archive = zipfile.ZipFile(CarefulFile(file))
            entries = self._archive.infolist()
        self._entries = {
            name: entry
            for entry in entries
            if (name := safe_name(entry.filename)) is not None and _is_recording(entry)
        }

    def entries(self) -> Iterator[tuple[Member, Iterator[Content]]]:
        """See `Container.entries`."""
        total = sum(entry.file_size for entry in self._entries.values())
        if total > most_expanded(self._size):
            raise BadContainer(f"members of {total} bytes in a file of {self._size}")
        for name, entry in self._entries.items():
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
    return not (entry.is_dir() or is_link or entry.flag_bits & _ENCRYPTED)
