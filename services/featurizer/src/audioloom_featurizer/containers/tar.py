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
        for archive, entry in self._entries():
            del archive
            name = safe_name(entry.name)
            if name is not None and entry.isreg() and not entry.issparse():
                yield Member(name, entry.size, None if self._packed else entry.offset_data)

    def unpack(self, wanted: Mapping[str, int]) -> Iterator[tuple[str, Iterator[Content]]]:
        """See `Container.unpack`."""
        for archive, entry in self._entries():
            name = safe_name(entry.name)
            if name is not None and name in wanted and entry.isreg() and not entry.issparse():
                with _damages():
                    content = cast("IO[bytes]", archive.extractfile(entry))
                yield name, _guarded(pieces(content, entry.size, name))

    def _entries(self) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        self._file.seek(0)
        mode: Any = "r:"
        file = CarefulFile(self._file)
        if self._packed:
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", file)))
            file, mode = CarefulFile(unpacked, most_expanded(self._size)), "r|"
        with _damages():
            archive = tarfile.open(  # noqa: SIM115 - a damaged one is no context
                fileobj=cast("Any", file), mode=mode, tarinfo=_Entry, errorlevel=2
            )
        with archive:
            while True:
                with _damages():
                    entry = archive.next()
                if entry is None:
                    if self._packed:
                        _read_on(file)
                    return
                cast("Any", archive).members.clear()  # they would grow with the container
                yield archive, entry


def _read_on(file: CarefulFile) -> None:
    """Read the rest of a compressed file, at whose end its checksum is compared."""
    with _damages():
        while file.read(PIECE_BYTES):
            pass


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


def _guarded(content: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with _damages():
            piece = next(content, None)
        if piece is None:
            return
        yield piece
