"""Sorted windows, recording by recording: find those that are there twice, count, and write."""

import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from io import BufferedRandom

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.envelope import FileEntry
from audioloom_manifest.kinds import Feature, FeaturesStats
from audioloom_manifest.parquet import (
    feature_bytes,
    features_rows_per_group,
    features_schema,
    features_writer,
)
from audioloom_storage import Location
from numpy.typing import NDArray

from audioloom_featurizer.errors import BadWindows
from audioloom_featurizer.extraction.unit import FEATURES
from audioloom_featurizer.inventory.parquet import check_labels
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.scratch import publish_as, scratch_file
from audioloom_featurizer.streams import BATCH_ROWS, equals_previous
from audioloom_featurizer.tables.intake import names_of


class Recordings:
    """Counts recordings and their windows, and completes the windows by what their recording says.

    Errors name the table *where* they lie.
    """

    def __init__(self, where: object) -> None:
        self._where = where
        self._tally = Tally()
        self._counts: Counter[str] = Counter()
        self._labels: Counter[str] = Counter()
        self._seconds: list[float] = []

    def checked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield sorted batches of `TAKEN` again, each with all windows of its recordings.

        A recording without a digest gets that of the values of its windows, so that `inspect`
        finds copies.

        Raises:
            BadWindows: after the last window, some were there twice.
            BadData: there are more labels than a manifest may hold.
        """
        for rows in whole_recordings(batches, BATCH_ROWS):
            twice = equals_previous(_column(rows, "order"), None)
            self._tally.add("twice", names_of(rows.filter(twice)))
            starts = _starts(rows)
            self._count(rows, starts)
            yield _with_digests(rows, starts)
        if twice := self._tally.counts["twice"]:
            raise BadWindows(
                "windows are there twice",
                where=self._where,
                expected="each window of a recording and channel once",
                found=f"{twice} again, such as {', '.join(self._tally.examples['twice'])}",
                hint="Give each recording a path of its own, also the members of a container;"
                " number the windows of a recording with --columns window=COLUMN, or remove rows.",
            )

    def stats(self) -> FeaturesStats:
        """The counts of all recordings."""
        recordings = self._counts["recordings"]
        return FeaturesStats(
            recordings=recordings,
            extracted=recordings,
            refused=0,
            flagged=self._counts["flagged"],
            windows=self._counts["windows"],
            audio_seconds=round(math.fsum(self._seconds), 6),
            refusals={},
            labels=dict(sorted(self._labels.items())),
        )

    def _count(self, rows: pa.Table, starts: NDArray[np.int64]) -> None:
        flagged = pc.greater(pc.list_value_length(rows["flags"]), 0)
        self._counts.update(
            recordings=len(starts),
            windows=rows.num_rows,
            flagged=len(rows["path"].filter(flagged).unique()),
        )
        for each in pc.value_counts(_column(rows, "label").drop_null()).to_pylist():
            self._labels[each["values"]] += each["counts"]
        self._seconds = [
            math.fsum([*self._seconds, *rows["recording_seconds"].take(starts).to_pylist()])
        ]
        check_labels(self._labels, self._where)


def whole_recordings(rows: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """Cut sorted rows between recordings: at most *most* in each piece, or one recording."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in rows:
        if not batch.num_rows:
            continue
        held.append(batch)
        count += batch.num_rows
        if batch["path"][-1].equals(held[0]["path"][0]):
            continue  # one recording so far
        while count > most:
            table = pa.Table.from_batches(held).combine_chunks()
            at = _cut(table, most)
            if at is None:
                held = table.to_batches()
                break
            yield table.slice(0, at)
            held, count = table.slice(at).to_batches(), count - at
    if count:
        yield pa.Table.from_batches(held)


def _cut(table: pa.Table, most: int) -> int | None:
    """The row at which a piece ends: the last recording within *most*, or the first beyond."""
    begins = _starts(table)[1:]
    within, beyond = begins[begins <= most], begins[begins > most]
    if len(within):
        return int(within[-1])
    return int(beyond[0]) if len(beyond) else None


def write_files(
    rows: Iterable[pa.RecordBatch],
    values: BufferedRandom,
    feature: Feature,
    folder: Location,
    most: int,
) -> Iterator[FileEntry]:
    """Write and publish the files of a run, one after another; yield their entries.

    The rows are in their order, with the place of their values, as `Intake` put them aside. A file
    has at most *most* windows, unless one recording has more.
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


def _starts(rows: pa.Table) -> NDArray[np.int64]:
    return np.flatnonzero(pc.invert(equals_previous(_column(rows, "path"), None)))


def _with_digests(rows: pa.Table, starts: NDArray[np.int64]) -> pa.Table:
    contents = rows["content"].to_pylist()
    ends = [*starts[1:].tolist(), len(contents)]
    digests = [
        hashlib.sha256(b"".join(contents[start:end])).hexdigest()
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]
    windows = np.diff([*starts.tolist(), len(contents)])
    each = pa.array(np.repeat(np.array(digests, object), windows), pa.string())
    at = rows.schema.get_field_index("recording_sha256")
    whole = pc.coalesce(_column(rows, "recording_sha256"), each)
    return rows.set_column(at, rows.schema.field(at), whole)


def _column(rows: pa.Table, name: str) -> pa.Array:
    column = rows[name]
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
