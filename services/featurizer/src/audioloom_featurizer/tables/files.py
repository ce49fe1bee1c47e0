"""Write the windows of a table to features files, whole recordings in each."""

import os
from collections.abc import Iterable, Iterator
from io import BufferedRandom

import pyarrow as pa
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import Feature
from audioloom_manifest.parquet import (
    feature_bytes,
    features_rows_per_group,
    features_schema,
    features_writer,
)
from audioloom_storage import Location

from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.scratch import publish_as, scratch_file
from audioloom_featurizer.tables.recordings import whole_recordings


def write_files(
    rows: Iterable[pa.RecordBatch],
    values: BufferedRandom,
    feature: Feature,
    folder: Location,
    most: int,
) -> Iterator[FileEntry]:
    """Write and publish the files of a run, one after another; yield their entries.

    Args:
        rows: the windows in their order, with the place of their values.
        values: the values, as `Intake` put them aside.
        feature: of the run.
        folder: of the run.
        most: windows in a file, unless one recording has more.

    Raises:
        StorageError: a file cannot be written.
    """
    values.flush()
    for number, table in enumerate(whole_recordings(rows, most)):
        with scratch_file() as file:
            with features_writer(file, feature) as writer:
                for group in _groups(table, values, feature):
                    writer.write_table(group)
            start = f"{FEATURES}/{FEATURES}-{number:016x}"  # a name that `gc` knows
            yield publish_as(file, folder, start, role=FEATURES, records=table.num_rows)


def _groups(table: pa.Table, values: BufferedRandom, feature: Feature) -> Iterator[pa.Table]:
    schema, width = features_schema(feature), feature_bytes(feature)
    most = features_rows_per_group(feature)
    for first in range(0, table.num_rows, most):
        group = table.slice(first, most)
        places = group["position"].to_pylist()
        data = b"".join(os.pread(values.fileno(), width, place * width) for place in places)
        buffers = [None, pa.py_buffer(data)]
        columns = {
            **{name: group[name] for name in schema.names if name != feature.name},
            feature.name: pa.Array.from_buffers(pa.binary(width), len(places), buffers),
        }
        yield pa.Table.from_pydict(columns, schema=schema)
