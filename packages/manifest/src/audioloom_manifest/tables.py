"""Tables that people write: CSV, TSV or Parquet, or a folder of Parquet files, read in pieces.

Needs the extra `audioloom-manifest[parquet]`. The first line of a CSV file names its columns; the
delimiter is a tab, a semicolon or a comma, whichever comes first in this list.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from audioloom_storage import IsAFolder, Location, open_read, walk

from audioloom_manifest.errors import ManifestError
from audioloom_manifest.parquet import damage_as

MOST_LINE_BYTES = 1 << 20
"""The longest first line of a CSV file."""
_ROWS = 8192
BLOCK_BYTES = 4 << 20
"""Bytes of CSV that are parsed at a time."""
_ASIDE = re.compile(r"(?:^|/)(?:\.|_[^/=]*(?:/|$))")
"""Hidden names, and those with an underscore that are no partitions (`_day=1`), as in Spark."""
_QUOTED = re.compile(r'"[^"]*"')


class BadTable(ManifestError, ValueError):
    """A table cannot be read, lacks a column, or holds a value of another type."""


@dataclass(frozen=True)
class Chunk:
    """Neighbouring rows of a table.

    Attributes:
        batch: the columns that were asked for; those of a CSV file are text.
        where: the file.
        first: the number of the first row in the file, counted from 1.
    """

    batch: pa.RecordBatch
    where: Location
    first: int

    def bad(self, row: int, column: str, expected: str) -> BadTable:
        """The error that names a row, a column and the value there."""
        found = self.batch.column(column)[row].as_py()
        return BadTable(
            where=f"{self.where}, row {self.first + row}, column {column}",
            expected=expected,
            found=f"{found!r:.300}",
        )

    def text(self, column: str) -> pa.StringArray:
        """A column as text; an empty text becomes null."""
        found = self.batch.column(column)
        if pa.types.is_dictionary(found.type):
            found = found.dictionary_decode()
        known = (pa.types.is_integer, pa.types.is_null, _is_text)
        if not any(each(found.type) for each in known):
            raise self.bad(0, column, f"text, not {found.type}")
        found = found.cast(pa.string())
        return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)

    def whole(self, column: str) -> pa.Int64Array:
        """A column as whole numbers of at least 0; a time is nanoseconds since 1970 UTC."""
        numbers = self._cast(column, pa.int64(), "a whole number of at least 0")
        self.refuse_any(pc.less(numbers, 0), column, "a whole number of at least 0")
        return numbers

    def number(self, column: str) -> pa.DoubleArray:
        """A column as finite numbers."""
        numbers = self._cast(column, pa.float64(), "a finite number")
        self.refuse_any(pc.invert(pc.is_finite(numbers)), column, "a finite number")
        return numbers

    def refuse_any(self, wrong: pa.BooleanArray, column: str, expected: str) -> None:
        """Raise for the first row where *wrong* is true.

        Raises:
            BadTable: there is one.
        """
        at = pc.index(wrong, value=True).as_py()
        if at >= 0:
            raise self.bad(at, column, expected)

    def _cast(self, column: str, kind: pa.DataType, expected: str) -> pa.Array:
        found = self.batch.column(column)
        if _is_text(found.type):
            found = self.text(column)

        def cast(values: pa.Array) -> pa.Array:
            if pa.types.is_timestamp(values.type):
                values = values.cast(pa.timestamp("ns", values.type.tz))
            return values.cast(kind)

        try:
            return cast(found)
        except pa.ArrowException:
            for row in range(len(found)):
                try:
                    cast(found.slice(row, 1))
                except pa.ArrowException:
                    raise self.bad(row, column, expected) from None
            raise


@dataclass(frozen=True)
class Table:
    """A table in one file or several.

    Attributes:
        where: the location that was given; a database is named by its URL.
        parts: the files.
        names: the columns of the first file.
    """

    where: Location | str
    parts: Sequence[Location]
    names: Sequence[str]

    def read(self, columns: Sequence[str], rows: int = _ROWS) -> Iterator[Chunk]:
        """The rows, in the order of the files.

        Args:
            columns: their names.
            rows: the most rows in a chunk of a Parquet file; few where a row is large.

        Raises:
            BadTable: a column is missing, a line is too long, a byte is no UTF-8.
        """
        for part in self.parts:
            self.check(columns, _names(part), part)
            row = 1
            for batch in _batches(part, columns, rows):
                yield Chunk(batch, part, row)
                row += batch.num_rows

    def check(
        self, columns: Sequence[str], names: Sequence[str] | None = None, where: object = None
    ) -> None:
        """Raise unless every one of *columns* is once in the first file, or among *names*."""
        names = self.names if names is None else names
        for column in columns:
            if (times := list(names).count(column)) != 1:
                raise BadTable(
                    where=where or self.where,
                    expected=f"a column {column}, once",
                    found="twice" if times else f"the columns {', '.join(names)[:300]}",
                    hint="The first line of a CSV file names its columns.",
                )


def open_table(location: Location) -> Table:
    """Open a table and read the names of its columns.

    Of a folder, what Spark and Delta keep aside (`_temporary`, `_delta_log`) is no part.

    Raises:
        BadTable: the file is no table, or the folder holds no Parquet files.
        NotFound, PermissionDenied: it cannot be read.
    """
    try:
        with open_read(location):
            parts = [location]
    except IsAFolder:
        parts = sorted(
            entry.location
            for entry in walk(location)
            if entry.location.name.endswith(".parquet")
            and _ASIDE.search(entry.location.relative_to(location)) is None
        )
    if not parts:
        raise BadTable(
            where=location,
            expected="Parquet files in the folder",
            found="none whose name ends in .parquet",
        )
    return Table(location, parts, _names(parts[0]))


def _names(part: Location) -> list[str]:
    with _opened(part) as (file, is_parquet):
        if is_parquet:
            with pq.ParquetFile(file) as parquet:
                return list(parquet.schema_arrow.names)
        return _header(file, part)[0]


def _header(file: BinaryIO, part: Location) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and its delimiter."""
    line, text = file.readline(MOST_LINE_BYTES + 1), ""
    if len(line) <= MOST_LINE_BYTES:
        try:
            text = line.decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError:
            raise _no_text(part, 1) from None
    bare = _QUOTED.sub("", text)  # a quoted name may hold another delimiter
    delimiter = next((mark for mark in "\t;" if mark in bare), ",")
    names: list[str] = []
    if text.strip() and "\0" not in text:
        with suppress(csv.Error):
            names = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    if not names:
        raise BadTable(
            where=part,
            expected="Parquet, or CSV whose first line names the columns",
            found=f"a first line of {len(line)} bytes, {line[:40]!r}",
        )
    return [name.strip() for name in names], delimiter


def _batches(part: Location, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    with _opened(part) as (file, is_parquet):
        if is_parquet:
            with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as parquet:
                yield from parquet.iter_batches(rows, columns=list(columns), use_threads=False)
            return
        names, delimiter = _header(file, part)
        file.seek(0)
        with pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, skip_rows=1, column_names=names
            ),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=False,
            ),
        ) as reader:
            yield from reader


@contextmanager
def _opened(part: Location) -> Iterator[tuple[BinaryIO, bool]]:
    """Open a file, and say whether it is Parquet; Arrow's errors become `BadTable`.

    It names the line of bytes that are no UTF-8.
    """
    is_parquet = False

    def damaged(text: str) -> BadTable:
        if not is_parquet and (line := _first_line_that_is_no_text(part)) is not None:
            return _no_text(part, line)
        return BadTable(
            where=part,
            expected="CSV with as many fields in each line as in the first, or Parquet",
            found=text,
        )

    with damage_as(damaged), open_read(part) as file:
        is_parquet = file.read(4) == b"PAR1"
        file.seek(0)
        yield file, is_parquet


def _no_text(part: Location, line: int) -> BadTable:
    return BadTable(
        where=f"{part}, line {line}",
        expected="UTF-8",
        found="bytes that are none",
        hint="Convert it: iconv -f ISO-8859-1 -t UTF-8.",
    )


def _first_line_that_is_no_text(part: Location) -> int | None:
    with open_read(part) as file:
        number = 1
        while line := file.readline(MOST_LINE_BYTES):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
            number += line.endswith(b"\n")
    return None


def _is_text(kind: pa.DataType) -> bool:
    known = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(each(kind) for each in known)
