"""tar and tar.gz: members of a plain tar are read by range, those of a tar.gz in sequence."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from tarfile import HeaderError
from typing import IO, Any, BinaryIO, Self, cast

from audioloom_featurizer.containers.member import (
    PIECE_BYTES,
    BadContainer,
    CarefulFile,
    Content,
    Member,
    damages,
    most_expanded,
    pieces,
    safe_name,
)

_damages = partial(
    damages,
    "tar",
    *(tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, ValueError),
)


class Tar:
    """A tar; links, devices and sparse files are no recordings.

    Args:
        file: the container.
        size: its size in bytes.
        packed: whether it is compressed by gzip.
    """

    def __init__(self, file: BinaryIO, size: int, *, packed: bool) -> None:
        self._file, self._size, self._packed = file, size, packed

    def members(self) -> Iterator[Member]:
        """See `Container.members`."""
        for name, entry, _ in self._entries():
            yield Member(name, entry.size, None if self._packed else entry.offset_data)

    def unpack(self, wanted: Mapping[str, int]) -> Iterator[tuple[str, Iterator[Content]]]:
        """See `Container.unpack`."""
        for name, entry, archive in self._entries():
            if name in wanted:
                yield name, _content(archive, entry, name)

    def _entries(self) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
        self._file.seek(0)
        mode: Any = "r:"
        file = CarefulFile(self._file)
        if self._packed:
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", file)))
            file, mode = CarefulFile(unpacked, most_expanded(self._size)), "r|"
        opened = {"fileobj": cast("Any", file), "mode": mode, "tarinfo": _Entry, "errorlevel": 2}
        with _damages(), tarfile.open(**opened) as archive:
            while (entry := archive.next()) is not None:
                cast("Any", archive).members.clear()  # they would grow with the container
                name = safe_name(entry.name)
                if name is not None and entry.isreg() and not entry.issparse():
                    yield name, entry, archive
            if self._packed:
                while file.read(PIECE_BYTES):  # at its end the checksum is compared
                    pass


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo, name: str) -> Iterator[bytes]:
    with _damages():
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
