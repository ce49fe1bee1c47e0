"""The identity columns of a window, as a features file has them."""

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import pyarrow as pa

from audioloom_sharder.rules import Rules


class Row(NamedTuple):
    """The identity columns of one window."""

    path: str
    channel: int
    window: int
    label: str | None
    target: float | None
    group: str | None
    valid_frames: int
    recording_sha256: str


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    """Convert a table with the identity columns to rows."""
    return starmap(Row, zip(*(table.column(name).to_pylist() for name in Row._fields), strict=True))


def group_of(row: Row, rules: Rules) -> str:
    """Return the group that decides the split of a row; "" for a row without a group."""
    if row.group:
        return row.group
    return row.path if rules.recipe.ungrouped == "by-recording" else ""
