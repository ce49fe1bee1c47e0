"""Join labels from a table: each row labels the recordings that have its key."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_manifest.tables import BadTable, Table
from audioloom_storage import Location

from audioloom_featurizer.errors import BadLabels
from audioloom_featurizer.external.merge_join import equals_previous, merge_join
from audioloom_featurizer.external.sort import sorted_batches
from audioloom_featurizer.inventory.paths import relative
from audioloom_featurizer.inventory.schema import LABEL_COLUMNS, ROWS, replaced

By: TypeAlias = Literal["path", "name", "stem", "key"]

LABELS = pa.schema([ROWS.field(name) for name in ("key", *LABEL_COLUMNS)])
_EXAMPLES = 5


@dataclass(frozen=True)
class LabelColumns:
    """The columns to read from a table of labels.

    Attributes:
        key: the column that is joined with the recordings.
        names: maps label, target and group to their columns, as far as the table has them.
    """

    key: str
    names: Mapping[str, str]


@dataclass
class JoinCount:
    """The counts of a join.

    Attributes:
        unmatched: number of keys that no recording has.
        recordings: number of recordings that have a row.
        examples: some of the unmatched keys.
    """

    unmatched: int = 0
    recordings: int = 0
    examples: list[str] = field(default_factory=list)


def label_columns(table: Table, by: By, named: Mapping[str, str]) -> LabelColumns:
    """Find the columns of a table of labels.

    Args:
        table: the table.
        by: the property of recordings that is joined; also the default name of the key column.
        named: maps key, label, target and group to columns with other names.

    Raises:
        BadTable: a column is missing, or the table has no label, target or group.
    """
    key = named.get("key", by)
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
    table.check([key, *names.values()])
    return LabelColumns(key, names)


def read_labels(table: Table, columns: LabelColumns, source: Location) -> Iterator[pa.RecordBatch]:
    """Read a table of labels as batches of `LABELS`, in the table's order."""
    wanted = list(dict.fromkeys([columns.key, *columns.names.values()]))
    for chunk in table.read(wanted):
        keys = relative(chunk.text(columns.key), source)
        chunk.refuse_any(pc.is_null(keys), columns.key, "a key in each row")
        found = {"key": keys}
        for name, column in columns.names.items():
            found[name] = chunk.number(column) if name == "target" else chunk.text(column)
        arrays = [found.get(each.name, pa.nulls(len(keys), each.type)) for each in LABELS]
        yield pa.RecordBatch.from_arrays(arrays, schema=LABELS)


def join_labels(
    recordings: Iterable[pa.RecordBatch],
    labels: Iterable[pa.RecordBatch],
    by: By,
    names: Sequence[str],
    count: JoinCount,
    where: object,
) -> Iterator[pa.RecordBatch]:
    """Join recordings with the labels of the table; yield them in the order of the join key.

    Several recordings may have one key. Both sides are sorted on disk, so either may be larger than
    memory.

    Args:
        recordings: batches of `ROWS`; the column `key` is used if *by* is "key".
        labels: batches of `LABELS`.
        by: the property that is joined: path, file name, file name without its suffix, or `key`.
        names: the columns to take from `LABELS`.
        count: receives the counts.
        where: the table, for errors.

    Raises:
        BadLabels: two rows with one key differ.
    """
    keyed = (replaced(batch, key=_keys(batch, by)) for batch in recordings)
    left = sorted_batches(keyed, "key")
    right = _one_row_each(sorted_batches(labels, "key"), where)
    for piece in merge_join(left, right, "key", (ROWS, LABELS)):
        found = piece.right.column("key")
        count.recordings += len(found) - found.null_count
        count.unmatched += piece.unmatched.num_rows
        if len(count.examples) < _EXAMPLES:
            count.examples += piece.unmatched.column("key").slice(0, _EXAMPLES).to_pylist()
            del count.examples[_EXAMPLES:]
        taken = {name: piece.right.column(name) for name in names}
        nothing = pa.nulls(piece.left.num_rows, pa.string())
        if piece.left.num_rows:
            yield replaced(piece.left, **taken, key=nothing)


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
    last: pa.RecordBatch | None = None
    for batch in batches:
        equal = {
            name: equals_previous(
                batch.column(name), last.column(name)[0] if last is not None else None
            )
            for name in LABELS.names
        }
        again = equal.pop("key")
        differs = pc.invert(pc.and_(pc.and_(*list(equal.values())[:2]), list(equal.values())[2]))
        torn = batch.filter(pc.and_(again, differs)).column("key")
        if len(torn):
            raise BadLabels(
                "rows contradict each other",
                where=where,
                expected="all rows of a key to be equal",
                found=f"two rows that differ for {_shown(torn)}",
                hint="Remove one of them, or join by a key that differs: --labels-by path.",
            )
        last = batch.slice(batch.num_rows - 1)
        yield batch.filter(pc.invert(again))


def _shown(keys: pa.StringArray) -> str:
    return ", ".join(map(repr, dict.fromkeys(keys.slice(0, _EXAMPLES).to_pylist())))
