"""The identity columns of a window, as a features file has them."""

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import pyarrow as pa

from audioloom_sharder.rules import Rules


class Row(NamedTuple):
    """The identity columns of one window."""

    path: str
    member: str | None
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


def recording_name(row: Row) -> str:
    """Return a record's name for its recording: the path, and the member of a container file."""
    return row.path if row.member is None else f"{row.path}!{row.member}"


def group_of(row: Row, rules: Rules) -> str:
    """Return the group that decides the split of a row; "" for a row without a group."""
    if row.group:
        return row.group
    return recording_name(row) if rules.recipe.ungrouped == "by-recording" else ""
