"""Labels from a table: each row says something of the recordings that have its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from audioloom_storage import Location

from audioloom_featurizer.errors import BadLabels, BadTable
from audioloom_featurizer.external.merge_join import matched, same
from audioloom_featurizer.external.sort import sorted_batches
from audioloom_featurizer.inventory.paths import relative
from audioloom_featurizer.inventory.schema import ROWS, SAID, replaced
from audioloom_featurizer.io.tables import Table

By: TypeAlias = Literal["path", "name", "stem", "key"]

LABELS = pa.schema([ROWS.field(name) for name in ("key", *SAID)])
_EXAMPLES = 5


@dataclass(frozen=True)
class Columns:
    """Which columns of a table of labels are read.

    Attributes:
        key: the one that recordings are known by.
        said: for each of label, target and group that the table says, its column.
    """

    key: str
    said: Mapping[str, str]


@dataclass
class Join:
    """What a join found.

    Attributes:
        unmatched: keys that no recording has, and some examples.
        recordings: recordings that found their row.
    """

    unmatched: int = 0
    recordings: int = 0
    examples: list[str] = field(default_factory=list)


def columns_of(table: Table, by: By, named: Mapping[str, str]) -> Columns:
    """Find the columns: as they are named, or by their own names where nothing is said.

    Args:
        table: of labels.
        by: what recordings are known by, which is the default name of the key's column.
        named: some of key, label, target, group to the column's name.

    Raises:
        BadTable: a column is missing, or the table says nothing.
    """
    key = named.get("key", by)
    said = {name: named.get(name, name) for name in SAID if name in named or name in table.names}
    if not said:
        raise BadTable(
            "the table says nothing of the recordings",
            where=table.where,
            expected="a column label, target or group",
            found=f"the columns {', '.join(table.names)[:300]}",
            hint="Name it: --labels-columns label=COLUMN.",
        )
    table.check([key, *said.values()])
    return Columns(key, said)


def read_labels(table: Table, columns: Columns, source: Location) -> Iterator[pa.RecordBatch]:
    """A table of labels as batches of `LABELS`, in the table's order."""
    wanted = list(dict.fromkeys([columns.key, *columns.said.values()]))
    for chunk in table.read(wanted):
        keys = relative(chunk.text(columns.key), source)
        chunk.refuse_any(pc.is_null(keys), columns.key, "a key in each row")
        found = {"key": keys}
        for name, column in columns.said.items():
            found[name] = chunk.number(column) if name == "target" else chunk.text(column)
        arrays = [found.get(each.name, pa.nulls(len(keys), each.type)) for each in LABELS]
        yield pa.RecordBatch.from_arrays(arrays, schema=LABELS)


def join_labels(
    recordings: Iterable[pa.RecordBatch],
    labels: Iterable[pa.RecordBatch],
    by: By,
    said: Sequence[str],
    join: Join,
    where: object,
) -> Iterator[pa.RecordBatch]:
    """The recordings with what the table says of them, in the order of what they are joined by.

    Several recordings may have one key: what the table says holds for each of them. Both sides are
    sorted on disk, so either may be larger than memory.

    Args:
        recordings: batches of `ROWS`; their `key` is looked at where *by* is "key".
        labels: batches of `LABELS`.
        by: path, file name, file name without its ending, or `key`.
        said: the columns of `LABELS` that are taken.
        join: told what was found.
        where: how an error calls the table.

    Raises:
        BadLabels: two rows say different things of one key.
    """
    keyed = (replaced(batch, key=_keys(batch, by)) for batch in recordings)
    left = sorted_batches(keyed, "key")
    right = _one_row_each(sorted_batches(labels, "key"), where)
    for piece in matched(left, right, "key", (ROWS, LABELS)):
        found = piece.right.column("key")
        join.recordings += len(found) - found.null_count
        join.unmatched += piece.unmatched.num_rows
        if len(join.examples) < _EXAMPLES:
            join.examples += piece.unmatched.column("key").slice(0, _EXAMPLES).to_pylist()
            del join.examples[_EXAMPLES:]
        taken = {name: piece.right.column(name) for name in said}
        nothing = pa.nulls(piece.left.num_rows, pa.string())
        if piece.left.num_rows:
            yield replaced(piece.left, **taken, key=nothing)


def _keys(batch: pa.RecordBatch, by: By) -> pa.StringArray:
    """What the table may know each recording by; an empty text, which no table has, for nothing."""
    if by == "key":
        return pc.fill_null(batch.column("key"), "")
    keys = batch.column("path")
    if by in ("name", "stem"):
        keys = pc.replace_substring_regex(keys, r"(?s)^.*/", "")
    if by == "stem":
        keys = pc.replace_substring_regex(keys, r"\.[^.]*$", "")
    return keys


def _one_row_each(batches: Iterable[pa.RecordBatch], where: object) -> Iterator[pa.RecordBatch]:
    """Rows in the order of their key, each key once; rows that say the same are one."""
    last: pa.RecordBatch | None = None
    for batch in batches:
        equal = {
            name: same(batch.column(name), last.column(name)[0] if last is not None else None)
            for name in LABELS.names
        }
        again = equal.pop("key")
        differs = pc.invert(pc.and_(pc.and_(*list(equal.values())[:2]), list(equal.values())[2]))
        torn = batch.filter(pc.and_(again, differs)).column("key")
        if len(torn):
            raise BadLabels(
                "rows contradict each other",
                where=where,
                expected="what is said of a key to be the same in all of its rows",
                found=f"two rows that differ for {_shown(torn)}",
                hint="Take one of them away, or join by what is different: --labels-by path.",
            )
        last = batch.slice(batch.num_rows - 1)
        yield batch.filter(pc.invert(again))


def _shown(keys: pa.StringArray) -> str:
    return ", ".join(map(repr, dict.fromkeys(keys.slice(0, _EXAMPLES).to_pylist())))
