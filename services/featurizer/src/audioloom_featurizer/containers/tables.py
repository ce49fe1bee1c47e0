"""Avro and Parquet: one row a recording, with a column of bytes and, mostly, a column of names.

The content is the one column of bytes (or the field `bytes` of a struct, as datasets of audio have
it); the name is the column `path`, `name`, `file`, `key` or `__key__`, else the number of the row.
Rows are read in sequence; both libraries hold a whole recording in memory.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from audioloom_featurizer.containers.member import (
    MOST_READ_BYTES,
    BadContainer,
    CarefulFile,
    Content,
    InSequence,
    NoRecordings,
    damages,
    most_expanded,
    safe_name,
)

_NAMES = ("path", "name", "file", "key", "__key__")
_parquet_damages = partial(damages, "Parquet file", Exception)  # the libraries raise many types
_avro_damages = partial(damages, "Avro file", Exception)


class _Rows(InSequence):
    """A container of rows: names and contents."""

    def __init__(self, size: int) -> None:
        self._size = size

    def contents(self) -> Iterator[tuple[str, Content]]:
        """See `InSequence.contents`."""
        total, most = 0, most_expanded(self._size)
        for number, (name, content) in enumerate(self.rows()):
            if content is None:
                continue
            total += len(content)
            if len(content) > MOST_READ_BYTES or total > most:
                raise BadContainer("values that are much larger than the file")
            safe = safe_name(f"{number:09d}" if name is None else name)
            if safe is not None:
                yield safe, content

    @abstractmethod
    def rows(self) -> Iterator[tuple[str | None, Content | None]]:
        """Names and contents of all rows."""


class Parquet(_Rows):
    """A Parquet file of recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__(size)
        with _parquet_damages():
            self._file = pq.ParquetFile(file, pre_buffer=False)
            fields = {each.name: _kind(each.type) for each in self._file.schema_arrow}
        self._content, self._name = _columns(fields)

    def rows(self) -> Iterator[tuple[str | None, Content | None]]:
        """Names and contents of all rows."""
        columns = [each for each in (self._content, self._name) if each is not None]
        with _parquet_damages():
            # One row at a time, because a row may be a recording of hours.
            batches = self._file.iter_batches(1, columns=columns, use_threads=False)
        while True:
            with _parquet_damages():
                batch = next(batches, None)
                if batch is None:
                    return
                row = {name: batch.column(name)[0] for name in columns} if len(batch) else None
            if row is not None:
                yield _parquet_parts(row[self._content], row.get(self._name or ""))


class Avro(_Rows):
    """An Avro object container file of recordings."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__(size)
        self._file = file

    def rows(self) -> Iterator[tuple[str | None, Content | None]]:
        """Names and contents of all rows."""
        from fastavro import reader  # noqa: PLC0415 - for this format alone

        self._file.seek(0)
        with _avro_damages():
            records = reader(CarefulFile(self._file))  # type: ignore[arg-type]
            schema: Any = records.writer_schema
            fields = {each["name"]: _avro_kind(each["type"]) for each in schema["fields"]}
        content, name = _columns(fields)
        while True:
            with _avro_damages():
                row: Any = next(records, None)
            if row is None:
                return
            yield _parts(row, content, name)


def _columns(kinds: Mapping[str, str]) -> tuple[str, str | None]:
    contents = [name for name, kind in kinds.items() if kind == "bytes"]
    if len(contents) != 1:
        found = ", ".join(contents) or "none"
        raise NoRecordings(f"columns of bytes: {found}; expected one")
    named = [name for name in _NAMES if kinds.get(name) == "text"]
    return contents[0], named[0] if named else None


def _parquet_parts(value: Any, name: Any) -> tuple[str | None, Content | None]:
    """Name and content of a row of Arrow's scalars; the content is not copied."""
    own = None if name is None else name.as_py()
    if isinstance(value, pa.StructScalar):
        if not value.is_valid:
            return own, None
        inner = value["path"].as_py() if "path" in value else None
        return own or inner, _parquet_parts(value["bytes"], None)[1]
    return own, memoryview(value.as_buffer()) if value.is_valid else None


def _parts(
    row: Mapping[str, Any], content: str, name: str | None
) -> tuple[str | None, Content | None]:
    return (None if name is None else row[name]), row[content]


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
