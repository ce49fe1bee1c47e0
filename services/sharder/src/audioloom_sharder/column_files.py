"""Files of columns in pieces, Parquet and ORC: written in one go forward, never held whole.

The bytes are a function of the records (and of the release of Arrow, whose name both formats keep
in the file): groups of rows end after a fixed number of rows, and nothing is written down of when,
where or from what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.pieces import Pieces

__all__ = ["read_orc", "read_parquet", "write_orc", "write_parquet"]

_ROWS_AT_ONCE = 64
_STRIPE_BYTES = 16 << 20


def write_parquet(
    tables: Iterable[pa.Table], schema: pa.Schema, compression: str
) -> Iterator[bytes]:
    """A Parquet file, a row group for each of *tables*."""
    sink = Pieces()
    with pq.ParquetWriter(
        sink,
        schema,
        compression=compression,
        use_dictionary=["group", "label"],
        write_statistics=[name for name in schema.names if name != "mfcc"],
        store_schema=False,
    ) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=len(table))
            yield from sink.take()
    yield from sink.take()


def write_orc(tables: Iterable[pa.Table], compression: str) -> Iterator[bytes]:
    """An ORC file, in stripes of bounded size."""
    sink = Pieces()
    named = "uncompressed" if compression == "none" else compression
    writer = orc.ORCWriter(sink, compression=named, stripe_size=_STRIPE_BYTES)
    for table in tables:
        writer.write(table)
        yield from sink.take()
    writer.close()
    yield from sink.take()


def read_parquet(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, a few at once; what is none is `DamagedRecord`."""
    with (
        _damage_told("Parquet"),
        pq.ParquetFile(stream, memory_map=False, pre_buffer=False) as file,
    ):
        yield from file.iter_batches(batch_size=_ROWS_AT_ONCE)


def read_orc(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    """The rows of an ORC file, a stripe at a time; what is none is `DamagedRecord`."""
    with _damage_told("ORC"):
        file = orc.ORCFile(stream)
        for number in range(file.nstripes):
            yield file.read_stripe(number)


@contextmanager
def _damage_told(what: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow says OSError for damaged pages too; the storage's own errors pass.
        if type(error) is OSError and error.errno is not None:
            raise
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        text = " ".join(str(error).split())[:300]
        raise DamagedRecord(f"not a whole {what} file: {text}") from error
