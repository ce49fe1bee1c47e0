"""Find the form of the values of a table: its first row says it for all."""

from collections.abc import Mapping

from audioloom_manifest.tables import BadTable, Chunk, Table

from audioloom_featurizer.errors import BadWindows, NoWindows
from audioloom_featurizer.settings import ImportSettings
from audioloom_featurizer.tables.columns import VALUES
from audioloom_featurizer.tables.values import (
    BINARY,
    EXPECTED,
    NESTED,
    ValuesForm,
    depth_of,
    shape_of,
)


def form_of(table: Table, columns: Mapping[str, str], settings: ImportSettings) -> ValuesForm:
    """The form of the values: from the type of the column, the first row, and --shape.

    Raises:
        NoWindows: the table has no rows.
        BadTable: the column does not hold numbers.
        BadWindows: the first row has no values, or none of this shape.
    """
    chunk = next((each for each in table.read([columns[VALUES]], 1) if each.batch.num_rows), None)
    if chunk is None:
        raise NoWindows(
            "the table is empty", where=table.where, expected="windows", found="no rows"
        )
    cell = chunk.batch.column(0)
    depth = check_depth(chunk, columns[VALUES])
    where = f"{chunk.where}, row {chunk.first}, column {columns[VALUES]}"
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
    shape = asked if depth == BINARY or cell.null_count else shape_of(cell, depth)
    if shape is None or 0 in shape:
        raise BadWindows(where=where, expected="at least one value", found="none")
    if asked is not None and asked != shape:
        if depth == NESTED or asked[0] * asked[1] != shape[0]:
            found = f"{shape[0]} × {shape[1]}" if depth == NESTED else f"{shape[0]} values"
            raise BadWindows(where=where, expected=f"{asked[0]} × {asked[1]}", found=found)
        shape = asked
    return ValuesForm(depth, shape, settings.dtype)


def check_depth(chunk: Chunk, column: str) -> int:
    """How deep the numbers of the column with the values lie.

    Raises:
        BadTable: it does not hold numbers.
    """
    kind = chunk.batch.column(column).type
    depth = depth_of(kind)
    if depth is None:
        raise BadTable(
            where=f"{chunk.where}, column {column}",
            expected=EXPECTED,
            found=f"the type {kind}",
            hint="Spark makes a list of its vectors with pyspark.ml.functions.vector_to_array.",
        )
    return depth
