"""Read features files: the identity columns of windows, and their values."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_manifest.checksum import QuickComparison
from audioloom_manifest.errors import WrongChecksum
from audioloom_manifest.file_list import check_file
from audioloom_manifest.kinds import ShardFeature
from audioloom_manifest.parquet import damage_as, features_schema
from audioloom_storage import open_read, pieces

from audioloom_sharder.errors import BadFeatures
from audioloom_sharder.inputs.manifests import Source
from audioloom_sharder.inputs.rows import Row
from audioloom_sharder.io.buffers import buffer
from audioloom_sharder.io.failures import disk_full_as_error, temporary_file

IDENTITY_COLUMNS = (*Row._fields, "flags", "valid_samples")
"""The columns that identify a window, and those that filters read."""

REQUIRED = tuple({*IDENTITY_COLUMNS} - {"label", "target", "group"})

_ROWS_AT_ONCE = 128
_PIECE_BYTES = 1 << 20
#: A file up to this size is held in memory; local disk holds a larger one.
HELD_BYTES = 128 << 20


def read_identities(source: Source, feature: ShardFeature) -> pa.Table:
    """Read the identity columns of every window of a file, in the file's order.

    Raises:
        MissingFile, WrongChecksum: the file is not there, or is of another size than listed.
        BadFeatures: it is not Parquet, or has other columns or another number of rows.
    """
    check_file(source.folder, source.entry, content=False)
    with (
        open_read(source.location) as stream,
        # A few columns of each row group: one read for neighbours instead of one per column.
        _parsed(source, stream, feature, pre_buffer=True) as file,
    ):
        rows = file.metadata.num_rows
        if source.entry.records is not None and rows != source.entry.records:
            raise BadFeatures(
                expected=f"{source.entry.records} windows", found=rows, where=source.location
            )
        table = file.read(columns=list(IDENTITY_COLUMNS))
    for name in REQUIRED:
        if table.column(name).null_count:
            raise BadFeatures(
                expected=f"a {name} in every row", found="none", where=source.location
            )
    return table


def read_windows(source: Source, feature: ShardFeature) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Read every window of a file with its values, in batches with the number of the first row.

    The file's checksum is compared first, so that damaged values do not enter shards unnoticed.

    Raises:
        MissingFile, WrongChecksum, BadFeatures: as `read_identities`.
    """
    with _checked(source) as stream, _parsed(source, stream, feature) as file:
        columns = [*IDENTITY_COLUMNS, feature.name]
        row = 0
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
            if batch.column(feature.name).null_count:
                raise BadFeatures(
                    expected=f"{feature.name} in every row",
                    found=f"none near row {row}",
                    where=source.location,
                )
            yield row, batch
            row += batch.num_rows


def values_of(batch: pa.RecordBatch, feature: ShardFeature) -> memoryview:
    """Return the feature's bytes of all windows of a batch, one after another, without a copy."""
    column = batch.column(feature.name)
    width = column.type.byte_width
    values = memoryview(column.buffers()[1]).cast("B")
    return values[column.offset * width : (column.offset + len(column)) * width]


@contextmanager
def _checked(source: Source) -> Iterator[Any]:
    """Copy the file into memory, or a large one to local disk, and compare its checksum."""
    check_file(source.folder, source.entry, content=False)
    size, comparison = source.entry.bytes, QuickComparison(source.entry)
    with ExitStack() as stack, open_read(source.location) as stream:
        held: Any
        if size > HELD_BYTES:
            held = stack.enter_context(temporary_file())
            for piece in pieces(stream):
                comparison.update(piece)
                with disk_full_as_error(size, "a features file"):
                    held.write(piece)
                    held.flush()
            held.seek(0)
        else:
            room = stack.enter_context(buffer(size))
            found = stream.readinto(room.data)  # type: ignore[attr-defined] # it is buffered
            for start in range(0, found, _PIECE_BYTES):
                comparison.update(room[start : min(found, start + _PIECE_BYTES)].data)
            held = stack.enter_context(pa.BufferReader(pa.py_buffer(room)))
        if different := comparison.difference():
            raise WrongChecksum(
                where=source.location,
                expected=different[0],
                found=different[1],
                hint="The file was changed after the commit: rerun the stage that wrote it.",
            )
        yield held


@contextmanager
def _parsed(
    source: Source, stream: Any, feature: ShardFeature, *, pre_buffer: bool = False
) -> Iterator[pq.ParquetFile]:
    def damaged(text: str) -> BadFeatures:
        folder = shlex.quote(str(source.folder))
        return BadFeatures(
            expected="a Parquet file of features",
            found=text,
            where=source.location,
            hint=f"Check all of them with: audioloom-featurizer verify {folder}",
        )

    with (
        damage_as(damaged),
        pq.ParquetFile(stream, memory_map=False, pre_buffer=pre_buffer) as file,
    ):
        _check_schema(source, file.schema_arrow, feature)
        yield file


def _check_schema(source: Source, found: pa.Schema, feature: ShardFeature) -> None:
    """Check that the columns of this version exist with their types; others are ignored."""
    expected = features_schema(feature)
    for name in (*IDENTITY_COLUMNS, feature.name):
        kind = expected.field(name).type
        types = [found.field(at).type for at in found.get_all_field_indices(name)]
        if len(types) != 1 or not _same(types[0], kind):
            raise BadFeatures(
                expected=f"one column {name} of type {kind}",
                found=", ".join(map(str, types)) or "no such column",
                where=source.location,
            )


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_string(expected):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    return bool(found == expected)
