import io
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audioloom_manifest.parquet import (
    BadParquet,
    features_rows_per_group,
    features_schema,
    features_writer,
    open_parquet,
)
from audioloom_storage import locate
from manifest_runs import RECIPE


def table(rows: int) -> pa.Table:
    schema = features_schema(RECIPE.feature)
    columns = {field.name: [_value(field.type)] * rows for field in schema if field.name != "mfcc"}
    columns["mfcc"] = [struct.pack("<12520f", *range(row, row + 12_520)) for row in range(rows)]
    return pa.table(columns, schema=schema)


def _value(kind: pa.DataType) -> object:
    if pa.types.is_list(kind):
        return ["silent"]
    return "x" if pa.types.is_string(kind) else 1


def test_same_rows_are_the_same_bytes() -> None:
    """A features file is a function of its rows: reruns give the same checksum."""

    def write() -> bytes:
        sink = io.BytesIO()
        with features_writer(sink, RECIPE.feature) as writer:
            writer.write_table(table(5), row_group_size=2)
        return sink.getvalue()

    assert write() == write()


def test_feature_is_plain_and_uncompressed() -> None:
    """The feature column can be read without decoding; the rest is compressed."""
    sink = io.BytesIO()
    with features_writer(sink, RECIPE.feature) as writer:
        writer.write_table(table(3))
    group = pq.ParquetFile(sink).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "UNCOMPRESSED" == columns["mfcc"].compression
    assert "RLE_DICTIONARY" not in columns["mfcc"].encodings
    assert "ZSTD" == columns["path"].compression
    assert table(3) == pq.read_table(sink)


def test_row_group_bound() -> None:
    """A row group holds at most 8 MiB of features: 167 windows of 50,080 bytes."""
    assert 167 == features_rows_per_group(RECIPE.feature)


def test_pages_that_rotted_are_named(tmp_path: Path) -> None:
    """Arrow finds no number for the error, and storage is not to blame."""
    path = tmp_path / "t.parquet"
    schema = pa.schema([pa.field("path", pa.string())])
    pq.write_table(pa.table({"path": ["a" * 1000]}, schema), path, compression="none")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    with (
        pytest.raises(BadParquet, match=r"t\.parquet: expected a Parquet file"),
        open_parquet(locate(path), schema) as file,
    ):
        file.read()
