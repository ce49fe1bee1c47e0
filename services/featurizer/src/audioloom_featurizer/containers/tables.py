"""Avro and Parquet: one row a recording, with a column of bytes and, mostly, a column of names.

The content is the one column of bytes (or the field `bytes` of a struct, as datasets of audio have
it); the name is the column `path`, `name`, `file`, `key` or `__key__`, else the number of the row.
Rows are read in sequence; both libraries hold a whole recording in memory.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from audioloom_featurizer.containers.member import (
    CarefulFile,
    Container,
    Content,
    Member,
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

    def entries(self) -> Iterator[tuple[Member, Iterator[Content]]]:
        """See `Container.entries`."""
        return whole_members(self._records(), self._size)

    def _records(self) -> Iterator[tuple[str, Content]]:
        with damages(self._what, Exception):  # the libraries raise many types
            for number, (name, content) in enumerate(self._read(self._file)):
                if content is not None:
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
    records: Any = reader(CarefulFile(file))  # type: ignore[arg-type]
    fields = records.writer_schema["fields"]
    content, name = _columns({each["name"]: _avro_kind(each["type"]) for each in fields})
    for row in records:
        yield None if name is None else row[name], row[content]


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
    names = {each["type"] if isinstance(each, dict) else each for each in kinds} - {"null"}
    return {frozenset({"bytes"}): "bytes", frozenset({"string"}): "text"}.get(
        frozenset(str(each) for each in names), "other"
    )
