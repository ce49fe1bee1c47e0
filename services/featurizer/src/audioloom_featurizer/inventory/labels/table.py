"""Join labels from a table: each row labels the recordings that have its key."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.tables import BadTable, Table
from audioloom_storage import Location

from audioloom_featurizer.errors import BadLabels
from audioloom_featurizer.inventory.paths import relative
from audioloom_featurizer.inventory.schema import (
    LABEL_COLUMNS,
    ROWS,
    batch_of,
    read_column,
    replaced,
)
from audioloom_featurizer.inventory.tally import Tally
from audioloom_featurizer.streams import equals_previous, merge_join, sorted_batches

By: TypeAlias = Literal["path", "name", "stem", "key"]

LABELS = pa.schema([ROWS.field(name) for name in ("key", *LABEL_COLUMNS)])


def label_columns(table: Table, by: By, named: Mapping[Any, str]) -> dict[str, str]:
    """Map key, label, target and group to the columns of a table, as far as it has them.

    The key's column is called like the property *by* of recordings, unless *named* says otherwise.

    Raises:
        BadTable: a column is missing, or the table has no label, target or group.
    """
    names = {
        name: named.get(name, name)
        for name in LABEL_COLUMNS
        if name in named or name in table.names
    }
    if not names:
        raise BadTable(
            where=table.where,
            expected="a column label, target or group",
            found=f"the columns {', '.join(table.names)[:300]}",
            hint="Name it: --labels-columns label=COLUMN.",
        )
    columns = {"key": named.get("key", by), **names}
    table.check(list(columns.values()))
    return columns


def read_labels(
    table: Table, columns: Mapping[str, str], source: Location
) -> Iterator[pa.RecordBatch]:
    """Read a table of labels as batches of `LABELS`, in the table's order."""
    for chunk in table.read(list(dict.fromkeys(columns.values()))):
        found = {name: read_column(chunk, column, name) for name, column in columns.items()}
        found["key"] = relative(found["key"], source)
        chunk.refuse_any(pc.is_null(found["key"]), columns["key"], "a key in each row")
        yield batch_of(LABELS, **found)


def join_labels(
    recordings: Iterable[pa.RecordBatch],
    labels: Iterable[pa.RecordBatch],
    by: By,
    names: Sequence[str],
    tally: Tally,
    where: object,
) -> Iterator[pa.RecordBatch]:
    """Join recordings with the labels of the table; yield them in the order of the join key.

    Several recordings may have one key: path, file name, file name without its suffix, or the
    column `key`. Both sides are sorted on disk, so either may be larger than memory. The *names*
    are the columns to take from `LABELS`; *where* names the table in errors.

    Raises:
        BadLabels: two rows with one key differ.
    """
    keyed = (replaced(batch, key=_keys(batch, by)) for batch in recordings)
    left = sorted_batches(keyed, "key")
    right = _one_row_each(sorted_batches(labels, "key"), where)
    for piece in merge_join(left, right, "key", (ROWS, LABELS)):
        tally.add("joined", piece.right.column("key").drop_null())
        tally.add("alone", piece.unmatched.column("key"))
        taken = {name: piece.right.column(name) for name in names}
        if piece.left.num_rows:
            yield replaced(piece.left, **taken, key=pa.nulls(piece.left.num_rows))


def _keys(batch: pa.RecordBatch, by: By) -> pa.StringArray:
    """The join key of each recording; empty text, which no table has, if there is no key."""
    if by == "key":
        return pc.fill_null(batch.column("key"), "")
    keys = batch.column("path")
    if by in ("name", "stem"):
        keys = pc.replace_substring_regex(keys, r"(?s)^.*/", "")
    if by == "stem":
        keys = pc.replace_substring_regex(keys, r"\.[^.]*$", "")
    return keys


def _one_row_each(batches: Iterable[pa.RecordBatch], where: object) -> Iterator[pa.RecordBatch]:
    last: dict[str, pa.Scalar] = {}
    for batch in batches:
        again, *equal = (
            equals_previous(batch.column(each), last.get(each)) for each in LABELS.names
        )
        torn = batch.column("key").filter(pc.and_not(again, reduce(pc.and_, equal)))
        if len(torn):
            shown = dict.fromkeys(torn.slice(0, 5).to_pylist())
            raise BadLabels(
                "rows contradict each other",
                where=where,
                expected="all rows of a key to be equal",
                found=f"two rows that differ for {', '.join(map(repr, shown))}",
                hint="Remove one of them, or join by a key that differs: --labels-by path.",
            )
        last = {name: batch.column(name)[-1] for name in LABELS.names}
        yield batch.filter(pc.invert(again))
