"""The identity columns of a window, as a features file has them."""

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import pyarrow as pa


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
