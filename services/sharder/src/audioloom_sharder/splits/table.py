"""Read a table that names the split of each path or group: CSV, TSV or Parquet.

The table has the column `split`, and `path` or `group`. If it has both, `path` counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from audioloom_manifest.file_list import file_sha256
from audioloom_manifest.tables import BadTable, Table, open_table
from audioloom_storage import Location, locate

from audioloom_sharder.splits.hashing import SplitLookup, group_hashes, run_starts
from audioloom_sharder.splits.ratios import MOST_SPLITS, check_split_name


@dataclass(frozen=True)
class SplitTable:
    """A split table with its state at the request of the run."""

    location: Location
    sha256: str
    column: Literal["path", "group"]
    """The column of the keys."""

    def read(self, *, seed: int) -> tuple[tuple[str, ...], SplitLookup]:
        """Read the splits, sorted, and the split of each path or group, 9 bytes a row.

        Rows with an empty split or key are skipped.

        Raises:
            BadTable: it is damaged, contradicts itself, names a bad split or too many, or has
                changed since the run was requested.
        """
        found = file_sha256(self.location)
        if found != self.sha256:
            raise BadTable(
                where=self.location,
                expected=f"SHA-256 {self.sha256}",
                found=found,
                hint="The table has changed during the run: run the same command again.",
            )
        return _read(open_table(self.location), self.column, seed)


def open_split_table(place: str | Location) -> SplitTable:
    """Check the columns of the table at *place*, and compute its checksum.

    Raises:
        BadTable: it is no table, or lacks the columns.
        StorageError: it cannot be read.
    """
    location = locate(place)
    table = open_table(location)
    if not {"path", "group"} & {*table.names}:
        raise BadTable(
            where=location,
            expected="a column group or path, once",
            found=f"the columns {', '.join(table.names)[:300]}",
            hint="A split table has a column split, and a column path or group.",
        )
    column: Literal["path", "group"] = "path" if "path" in table.names else "group"
    table.check(["split", column])
    return SplitTable(location, file_sha256(location), column)


def _read(table: Table, column: str, seed: int) -> tuple[tuple[str, ...], SplitLookup]:
    numbers: dict[str, int] = {}
    all_keys, all_splits = [np.empty(0, np.uint64)], [np.empty(0, np.uint8)]
    for keys, splits in _rows(table, column):
        for name in sorted(set(splits) - numbers.keys()):
            numbers[check_split_name(name, where=table.where)] = len(numbers)
        if len(numbers) > MOST_SPLITS:
            raise BadTable(
                where=table.where, expected=f"at most {MOST_SPLITS} splits", found=f"{len(numbers)}"
            )
        all_keys.append(group_hashes(keys, seed=seed))
        all_splits.append(np.array([numbers[name] for name in splits], np.uint8))
    names = tuple(sorted(numbers))
    key, split = np.concatenate(all_keys), np.concatenate(all_splits)
    if len(split):
        split = np.array([names.index(name) for name in numbers], np.uint8)[split]
    order = np.lexsort((split, key))
    key, split = key[order], split[order]
    first = run_starts(key, split)
    key, split = key[first], split[first]
    if (torn := np.flatnonzero(key[1:] == key[:-1])).size:
        raise _contradiction(table, column, int(key[torn[0]]), seed)
    return names, SplitLookup(key, split)


def _contradiction(table: Table, column: str, key: int, seed: int) -> BadTable:
    """The error for a key with two splits; the table is read again for its name."""
    found: dict[str, set[str]] = {}
    for keys, splits in _rows(table, column):
        for at in np.flatnonzero(group_hashes(keys, seed=seed) == np.uint64(key)).tolist():
            found.setdefault(keys[at], set()).add(splits[at])
    name, both = next((name, some) for name, some in found.items() if len(some) > 1)
    return BadTable(
        where=table.where,
        expected=f"one split for each {column}",
        found=f"{' and '.join(sorted(both))} for {name!r:.300}",
    )


def _rows(table: Table, column: str) -> Iterator[tuple[list[str], list[str]]]:
    for chunk in table.read([column, "split"]):
        pairs = zip(chunk.text(column).to_pylist(), chunk.text("split").to_pylist(), strict=True)
        known = [(key, split) for key, split in pairs if key and split]
        yield [key for key, _ in known], [split for _, split in known]
