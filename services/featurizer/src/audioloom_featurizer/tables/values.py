"""The values of windows, in the column types that Parquet tables have for them.

A cell is a list of numbers, a list of such lists (coefficients × frames), or bytes of little-endian
numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.tables import BadTable, Chunk, Table
from numpy.typing import NDArray

from audioloom_featurizer.errors import BadWindows, NoWindows
from audioloom_featurizer.settings import ImportSettings

BINARY, FLAT, NESTED = 0, 1, 2
"""How deep the numbers lie inside lists."""


class WrongValues(ValueError):
    """The values of a row, by its number in the column, are not of the expected shape."""

    def __init__(self, row: int, found: str) -> None:
        super().__init__(found)
        self.row = row
        self.found = found


@dataclass(frozen=True)
class ValuesForm:
    """What the values of every window are.

    Attributes:
        depth: `BINARY`, `FLAT` or `NESTED`.
        shape: coefficients and frames.
        dtype: `float32` or `float16`; binary values have this type already.
    """

    depth: int
    shape: tuple[int, int]
    dtype: str

    @property
    def count(self) -> int:
        """Values of a window."""
        return self.shape[0] * self.shape[1]

    @property
    def width(self) -> int:
        """Bytes of a window."""
        return self.count * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.shape[0]} × {self.shape[1]} values"


def form_of(table: Table, column: str, settings: ImportSettings) -> ValuesForm:
    """The form of the values: from the type of the column, the first row, and --shape.

    Raises:
        NoWindows: the table has no rows.
        BadTable: the column does not hold numbers.
        BadWindows: the first row has no values, or none of this shape.
    """
    chunk = next((each for each in table.read([column], 1) if each.batch.num_rows), None)
    if chunk is None:
        raise NoWindows(
            "the table is empty", where=table.where, expected="windows", found="no rows"
        )
    cell = chunk.batch.column(0)
    depth = check_depth(chunk, column)
    where = f"{chunk.where}, row {chunk.first}, column {column}"
    asked = None
    if settings.shape is not None:
        rows, frames = map(int, settings.shape.split("x"))
        asked = rows, frames
    if depth == BINARY and asked is None:
        raise BadWindows(
            "binary values do not say their shape",
            where=where,
            expected="--shape COEFFICIENTSxFRAMES",
            found="none",
        )
    shape = asked if depth == BINARY or cell.null_count else _shape(cell, depth)
    if shape is None or 0 in shape:
        raise BadWindows(where=where, expected="at least one value", found="none")
    if asked is not None and asked != shape:
        if depth == NESTED or asked[0] * asked[1] != shape[0]:
            found = f"{shape[0]} × {shape[1]}" if depth == NESTED else f"{shape[0]} values"
            raise BadWindows(where=where, expected=f"{asked[0]} × {asked[1]}", found=found)
        shape = asked
    return ValuesForm(depth, shape, settings.dtype)


def check_depth(chunk: Chunk, column: str) -> int:
    """How deep the numbers of a column lie; raise `BadTable` if it does not hold numbers."""
    whole = kind = chunk.batch.column(column).type
    if _is_binary(kind):
        return BINARY
    depth = 0
    while _is_list(kind) and depth < NESTED:
        kind, depth = kind.value_type, depth + 1
    if depth and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return depth
    raise BadTable(
        where=f"{chunk.where}, column {column}",
        expected="lists of numbers, lists of such lists, or binary",
        found=f"the type {whole}",
        hint="Spark makes a list of its vectors with pyspark.ml.functions.vector_to_array.",
    )


def _shape(cell: pa.Array, depth: int) -> tuple[int, int]:
    """The shape of the only row of a column of lists; a flat list is one vector."""
    values = cell.flatten()
    if depth == FLAT:
        return len(values), 1
    inner = pc.list_value_length(values)
    return len(values), (inner[0].as_py() or 0) if len(inner) else 0


def read_values(column: pa.Array, form: ValuesForm) -> NDArray[np.floating]:
    """The values of all rows, shape (rows, values), little-endian.

    Raises:
        WrongValues: a row has no values, or others than the form says.
    """
    dtype = np.dtype(form.dtype).newbyteorder("<")
    if form.depth == BINARY:
        _check(pc.binary_length(column), form.width, "{} bytes")
        data = b"".join(column.to_pylist())
        return np.frombuffer(data, dtype).reshape(len(column), -1)
    outer, inner = form.shape if form.depth == NESTED else (form.count, 1)
    _check(pc.list_value_length(column), outer, "{} lists" if form.depth == NESTED else "{} values")
    column = column.flatten()
    if form.depth == NESTED:
        _check(pc.list_value_length(column), inner, "a list of {} values", outer)
        column = column.flatten()
    if column.null_count:
        at = pc.index(pc.is_null(column), value=True).as_py()
        raise WrongValues(at // form.count, "a value that is null")
    numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):  # what becomes infinite is found there
        return numbers.astype(dtype).reshape(-1, form.count)


def _check(lengths: pa.Array, expected: int, found: str, each: int = 1) -> None:
    """Raise for the first cell of another length; *each* cells are a row."""
    wrong = pc.fill_null(pc.not_equal(lengths, expected), fill_value=True)
    at = pc.index(wrong, value=True).as_py()
    if at >= 0:
        length = lengths[at].as_py()
        raise WrongValues(at // each, "null" if length is None else found.format(length))


def _is_binary(kind: pa.DataType) -> bool:
    known = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(each(kind) for each in known)


def _is_list(kind: pa.DataType) -> bool:
    known = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(each(kind) for each in known)
