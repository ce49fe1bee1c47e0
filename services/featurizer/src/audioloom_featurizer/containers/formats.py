"""Which files are containers, and how tar, zip, Avro and Parquet are read.

Members of a plain tar are read by range, those of a tar.gz in sequence. Members of a zip are
decompressed one by one, in any order.

Avro and Parquet have one row a recording. The content is the one column of bytes (or the field
`bytes` of a struct, as datasets of audio have it); the name is the column `path`, `name`, `file`,
`key` or `__key__`, else the number of the row. Rows are read in sequence; both libraries hold a
whole recording in memory.
"""

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from tarfile import HeaderError
from typing import IO, Any, BinaryIO, Self, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq

from audioloom_featurizer.containers.codecs import AVRO, Codec
from audioloom_featurizer.containers.member import (
    LEFT_OUT,
    MOST_READ_BYTES,
    PIECE_BYTES,
    BadContainer,
    CarefulFile,
    Container,
    Content,
    Entry,
    Member,
    NoRecordings,
    damages,
    most_expanded,
    pieces,
    safe_name,
    whole_members,
)
from audioloom_featurizer.containers.sequence_file import SequenceFile

_tar_damages = partial(
    damages,
    "tar",
    *(tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, ValueError),
    RecursionError,  # a thousand headers of long names in a row
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
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
"""Members of a tar that hold names and more of the next member."""
_MOST_HEADER_BYTES = 256 << 10
_MOST_FIELDS = 10_000
_BLOCK_BYTES = 512
_SYNC_BYTES = 16
_NAMES = ("path", "name", "file", "key", "__key__")

Row: TypeAlias = tuple[str | None, Content | None]
"""The name and the content of a row."""


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


def parquet_rows(file: BinaryIO) -> Iterator[Row]:
    """Read a Parquet file one row at a time, because a row may be a recording of hours."""
    parquet = pq.ParquetFile(file, pre_buffer=False)
    content, name = _columns({each.name: _kind(each.type) for each in parquet.schema_arrow})
    columns = [each for each in (content, name) if each is not None]
    for batch in parquet.iter_batches(1, columns=columns, use_threads=False):
        if len(batch):
            own = None if name is None else batch.column(name)[0]
            yield _parquet_parts(batch.column(content)[0], own)


def avro_rows(file: BinaryIO) -> Iterator[Row]:
    """Read an Avro object container file."""
    from fastavro import reader  # noqa: PLC0415 - for this format alone

    file.seek(0)
    careful = CarefulFile(file)
    records: Any = reader(careful)  # type: ignore[arg-type]
    fields = records.writer_schema["fields"]
    content, name = _columns({each["name"]: _avro_kind(each["type"]) for each in fields})
    if records.codec not in {"null", *AVRO}:
        raise BadContainer(f"the codec {records.codec}: expected one of null, {', '.join(AVRO)}")
    if records.codec in AVRO:
        records = _packed_records(careful, records.writer_schema, AVRO[records.codec])
    for row in records:
        yield None if name is None else row[name], row[content]


def _packed_records(file: Any, schema: Any, unpacked: Codec) -> Iterator[Mapping[str, Any]]:
    """Read the records of an Avro file behind its header; no block is unpacked beyond a bound."""
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 - as above

    record, number, block = map(parse_schema, (schema, {"type": "long"}, {"type": "bytes"}))
    file.seek(-_SYNC_BYTES, 1)
    sync = file.read(_SYNC_BYTES)  # the end of the header, and of each block
    while True:
        try:
            count: Any = schemaless_reader(file, number, None)
        except EOFError:
            return
        data: Any = schemaless_reader(file, block, None)
        rows = io.BytesIO(unpacked(data, MOST_READ_BYTES))
        for _ in range(count):
            yield cast("Mapping[str, Any]", schemaless_reader(rows, record, None))
        if file.read(_SYNC_BYTES) != sync:
            raise BadContainer(f"no end of a block before byte {file.tell()}")


def _columns(kinds: Mapping[str, str]) -> tuple[str, str | None]:
    contents = [name for name, kind in kinds.items() if kind == "bytes"]
    if len(contents) != 1:
        found = ", ".join(contents) or "none"
        raise NoRecordings(f"columns of bytes: {found}; expected one")
    named = [name for name in _NAMES if kinds.get(name) == "text"]
    return contents[0], named[0] if named else None


def _parquet_parts(value: Any, name: Any) -> Row:
    """Name and content of a row of Arrow's scalars; the content is not copied."""
    own = None if name is None else name.as_py()
    if isinstance(value, pa.StructScalar):
        if not value.is_valid:
            return own, None
        inner = value["path"].as_py() if "path" in value else None
        return own or inner, _parquet_parts(value["bytes"], None)[1]
    return own, memoryview(value.as_buffer()) if value.is_valid else None


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        return _kind(kind.field("bytes").type)
    return "other"


def _avro_kind(kind: Any) -> str:
    kinds = kind if isinstance(kind, list) else [kind]
    names = {_avro_type(each) for each in kinds} - {"null"}
    return {frozenset({"bytes"}): "bytes", frozenset({"string"}): "text"}.get(
        frozenset(names), "other"
    )


def _avro_type(kind: Any) -> str:
    if isinstance(kind, dict):
        # The library makes numbers, dates and UUIDs of logical types.
        return "other" if "logicalType" in kind else str(kind["type"])
    return str(kind)


_FORMATS: dict[str, Callable[[BinaryIO, int], Container]] = {
    ".tar": partial(Tar, packed=False),
    ".tar.gz": partial(Tar, packed=True),
    ".tgz": partial(Tar, packed=True),
    ".zip": Zip,
    ".seq": SequenceFile,
    ".avro": partial(Rows, avro_rows, "Avro file"),
    ".parquet": partial(Rows, parquet_rows, "Parquet file"),
}
SUFFIXES = tuple(_FORMATS)

WITHOUT_SUFFIXES = (".seq", ".avro", ".parquet")
"""Members are recordings whatever their names: keys and row numbers have no suffix."""

_ANY_ORDER = (".tar", ".zip")


def container_suffix(path: str) -> str | None:
    """The suffix that makes a file a container; None for any other file."""
    lower = path.lower()
    return next((suffix for suffix in SUFFIXES if lower.endswith(suffix)), None)


def open_container(path: str, file: BinaryIO, size: int) -> Container:
    """Open a container by its suffix; raise `BadContainer` if its beginning is damaged."""
    return _FORMATS[container_suffix(path) or ""](file, size)


def read_in_sequence(path: str, offset: int | None) -> bool:
    """Whether a member can only be read with all members before it."""
    return offset is None and container_suffix(path) not in _ANY_ORDER
