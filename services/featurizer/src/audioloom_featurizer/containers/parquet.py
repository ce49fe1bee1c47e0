"""Read Parquet files of recordings by pyarrow."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from audioloom_featurizer.containers.rows import Row, columns


def parquet_rows(file: BinaryIO) -> Iterator[Row]:
    """Read a Parquet file one row at a time, because a row may be a recording of hours.

    The content may also be the field `bytes` of a struct, as datasets of audio have it.
    """
    parquet = pq.ParquetFile(file, pre_buffer=False)
    content, name = columns({each.name: _kind(each.type) for each in parquet.schema_arrow})
    wanted = [each for each in (content, name) if each is not None]
    for batch in parquet.iter_batches(1, columns=wanted, use_threads=False):
        if len(batch):
            own = None if name is None else batch.column(name)[0]
            yield _parts(batch.column(content)[0], own)


def _parts(value: Any, name: Any) -> Row:
    """Name and content of a row of Arrow's scalars; the content is not copied."""
    own = None if name is None else name.as_py()
    if isinstance(value, pa.StructScalar):
        if not value.is_valid:
            return own, None
        inner = value["path"].as_py() if "path" in value else None
        return own or inner, _parts(value["bytes"], None)[1]
    return own, memoryview(value.as_buffer()) if value.is_valid else None


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        return _kind(kind.field("bytes").type)
    return "other"
