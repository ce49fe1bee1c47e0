"""Read tar and tar.gz: members of a plain tar by range, those of a tar.gz in sequence."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from functools import partial
from tarfile import HeaderError
from typing import IO, Any, BinaryIO, Self, cast

from audioloom_featurizer.containers.member import (
    LEFT_OUT,
    PIECE_BYTES,
    BadContainer,
    CarefulFile,
    Container,
    Entry,
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
    RecursionError,  # a thousand headers of long names in a row
)
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
"""Members of a tar that hold names and more of the next member."""
_MOST_HEADER_BYTES = 256 << 10
_MOST_FIELDS = 10_000
_BLOCK_BYTES = 512


class Tar(Container):
    """A tar, *packed* by gzip or plain; links, devices and sparse files are no recordings."""

    def __init__(self, file: BinaryIO, size: int, *, packed: bool) -> None:
        self._file, self._size, self._packed = file, size, packed

    def entries(self) -> Iterator[Entry]:
        """See `Container.entries`."""
        self._file.seek(0)
        mode: Any = "r:"
        file, most = CarefulFile(self._file), most_expanded(self._size)
        if self._packed:
            content = cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", file)))
            file, mode = CarefulFile(content, most), "r|"
        opened = {"fileobj": cast("Any", file), "mode": mode, "tarinfo": _Entry, "errorlevel": 2}
        with _tar_damages(), tarfile.open(**opened) as archive:
            while (entry := archive.next()) is not None:
                # The library goes there next: it would read for ever in a tar.gz, or in a circle.
                size = 0 if entry.issparse() else entry.size  # holes are no bytes
                if not 0 <= size <= most or not entry.offset < archive.offset <= most:
                    raise BadContainer(f"a member of {size} bytes at byte {entry.offset}")
                cast("Any", archive).members.clear()  # they would grow with the container
                name = safe_name(entry.name)
                if name is not None and entry.isreg() and not entry.issparse():
                    place = None if self._packed else entry.offset_data
                    yield Member(name, entry.size, place), _content(archive, entry, name)
                elif not entry.isdir():
                    yield LEFT_OUT
                if not self._packed and archive.offset > self._size:
                    raise BadContainer(f"a member up to byte {archive.offset} of {self._size}")
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
        try:
            return super().fromtarfile(tarfile)
        except HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # two blocks of zeros, as it should be
                raise
            raise BadContainer(
                f"no header of a member at byte {tarfile.offset} ({error})"
            ) from error

    def _proc_member(self, tarfile: tarfile.TarFile) -> Any:
        # A tar.gz is read in small pieces, so the file does not see how large a header is. A
        # thousand headers may follow one another, and those for all members are kept.
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise BadContainer(f"a header that claims {self.size} bytes")
        if (count := len(tarfile.pax_headers)) > _MOST_FIELDS:
            raise BadContainer(f"{count} fields for all members")
        return super()._proc_member(tarfile)  # type: ignore[misc]

    def _proc_sparse(self, tarfile: tarfile.TarFile) -> Any:
        # The library keeps the places of all holes. Their blocks have to be passed, 512 bytes each,
        # whose 505th says whether another one follows.
        _, more, size = self._sparse_structs
        while more:
            block = cast("Any", tarfile).fileobj.read(_BLOCK_BYTES)
            if len(block) < _BLOCK_BYTES:
                raise BadContainer("the end of the file in the places of holes")
            more = block[504]
        self._sparse_structs: Any = [], False, size
        return super()._proc_sparse(tarfile)  # type: ignore[misc]

    def _proc_gnusparse_10(self, following: Any, *_: Any) -> None:
        # The same as a list of numbers before the content.
        following.sparse = []
