"""The Parquet data files of the contract: columns, types and writers.

Needs the extra `audioloom-manifest[parquet]`. SPEC.md defines the meaning of each column.
"""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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

_WINDOW = [
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


def features_schema(feature: Feature | ShardFeature) -> pa.Schema:
    """Make the schema of a features file: one row per window, with the feature in the last column.

    The feature column has the feature's name. Each row holds the little-endian matrix of shape
    `feature.shape`, in C order, as fixed-size binary.
    """
    width = feature_bytes(feature)
    return pa.schema([*_WINDOW, pa.field(feature.name, pa.binary(width), nullable=False)])


def feature_bytes(feature: Feature | ShardFeature) -> int:
    """Return the bytes of one window: coefficients × frames × bytes of the dtype."""
    rows, columns = feature.shape
    return rows * columns * {"float32": 4, "float16": 2}[feature.dtype]


def features_rows_per_group(feature: Feature) -> int:
    """Return the number of windows that make a row group of about `ROW_GROUP_BYTES`."""
    return max(1, ROW_GROUP_BYTES // feature_bytes(feature))


def features_writer(sink: Any, feature: Feature) -> pq.ParquetWriter:
    """Open a writer for a features file: the feature PLAIN and uncompressed, the rest zstd.

    Noise-like float bytes do not compress, and plain bytes can be read without a copy.
    """
    names = [field.name for field in _WINDOW]
    return pq.ParquetWriter(
        sink,
        features_schema(feature),
        version="2.6",
        compression={**dict.fromkeys(names, "zstd"), feature.name: "none"},
        use_dictionary=[name for name in names if name in _REPEATED],
        write_statistics=names,
    )


def table_writer(sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
    """Open a writer for the inventory or the ledger."""
    return pq.ParquetWriter(sink, schema, version="2.6", compression="zstd")


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
