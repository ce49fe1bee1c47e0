"""The Parquet data files of the contract: columns, types and how they are written.

Needs the extra `audioloom-manifest[parquet]`. The meaning of each column stands in SPEC.md.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from audioloom_storage import Location, open_read

from audioloom_manifest.errors import ManifestError
from audioloom_manifest.kinds import Feature, ShardFeature

ROW_GROUP_BYTES = 8 << 20
"""Feature bytes in a row group: what a reader must hold at once."""

INVENTORY = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("member", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified_ns", pa.int64(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("target", pa.float64()),
        pa.field("group", pa.string()),
    ]
)
"""One row a recording, sorted by path; `path` is relative to the recipe's source."""

LEDGER = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("member", pa.string()),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified_ns", pa.int64(), nullable=False),
        pa.field("class", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("message", pa.string(), nullable=False),
        pa.field("retryable", pa.bool_(), nullable=False),
    ]
)
"""One row a refused recording: which, why, where in it, and whether trying again may help."""

WINDOW = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("member", pa.string()),
        pa.field("channel", pa.int8(), nullable=False),
        pa.field("window", pa.int32(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("target", pa.float64()),
        pa.field("group", pa.string()),
        pa.field("start_seconds", pa.float64(), nullable=False),
        pa.field("valid_samples", pa.int32(), nullable=False),
        pa.field("valid_frames", pa.int32(), nullable=False),
        pa.field("flags", pa.list_(pa.string()), nullable=False),
        pa.field("recording_sha256", pa.string(), nullable=False),
        pa.field("recording_bytes", pa.int64(), nullable=False),
        pa.field("recording_seconds", pa.float64(), nullable=False),
        pa.field("recording_rate", pa.int32(), nullable=False),
        pa.field("recording_channels", pa.int16(), nullable=False),
        pa.field("recording_format", pa.string(), nullable=False),
    ]
)
"""A window of a features file, all but the feature."""


def features_schema(feature: Feature | ShardFeature) -> pa.Schema:
    """The schema of a features file: one row a window; the last column holds the feature.

    The feature column has the feature's name and holds one little-endian value a row, shape
    `feature.shape` in C order, as fixed-size binary.
    """
    width = feature_bytes(feature)
    return pa.schema([*WINDOW, pa.field(feature.name, pa.binary(width), nullable=False)])


def feature_bytes(feature: Feature | ShardFeature) -> int:
    """Bytes of one window: coefficients × frames × bytes of the dtype."""
    rows, columns = feature.shape
    return rows * columns * {"float32": 4, "float16": 2}[feature.dtype]


def features_rows_per_group(feature: Feature) -> int:
    """Windows in a row group, so that a group holds about `ROW_GROUP_BYTES`."""
    return max(1, ROW_GROUP_BYTES // feature_bytes(feature))


def features_writer(sink: Any, feature: Feature) -> pq.ParquetWriter:
    """A writer for a features file: the feature PLAIN and uncompressed, the rest zstd.

    Noise-like float bytes do not compress; left plain they can be read without a copy.
    """
    names = WINDOW.names
    return pq.ParquetWriter(
        sink,
        features_schema(feature),
        version="2.6",
        compression={**dict.fromkeys(names, "zstd"), feature.name: "none"},
        use_dictionary=[name for name in names if name in _REPEATED],
        write_statistics=names,
    )


def table_writer(sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer for the inventory and the ledger."""
    return pq.ParquetWriter(sink, schema, version="2.6", compression="zstd")


class BadParquet(ManifestError, ValueError):
    """A data file is not the Parquet file that the contract describes."""


@contextmanager
def open_parquet(location: Location, schema: pa.Schema) -> Iterator[pq.ParquetFile]:
    """Open a file of the contract's columns, without reading the whole file ahead.

    Columns are compared by name and type; columns of a later minor version are ignored.

    Raises:
        BadParquet: the file is not Parquet, or a column is missing or has another type.
    """

    def damaged(text: str) -> BadParquet:
        return BadParquet(
            where=location,
            expected="a Parquet file",
            found=text,
            hint="Restore the file, or run its stage again.",
        )

    with (
        open_read(location) as stream,
        damage_as(damaged),
        pq.ParquetFile(stream, pre_buffer=False) as file,
    ):
        for field in schema:
            at = file.schema_arrow.get_field_index(field.name)
            has = "no such column" if at < 0 else file.schema_arrow.field(at).type
            if has != field.type:
                expected = f"the column {field.name} of type {field.type}"
                raise BadParquet(where=location, expected=expected, found=str(has))
        yield file


@contextmanager
def damage_as(error_of: Callable[[str], Exception]) -> Iterator[None]:
    """Raise *error_of* Arrow's text where it finds damage; errors of storage pass unchanged."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow raises OSError for damaged pages too, without a number; storage has its own types.
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise
        raise error_of(" ".join(str(error).split())[:300]) from error


_REPEATED = {
    "path",
    "member",
    "label",
    "group",
    "recording_sha256",
    "recording_format",
    "recording_seconds",
    "recording_bytes",
}
