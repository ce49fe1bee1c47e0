"""A table that says the splits: CSV (or TSV) or Parquet, read a piece at a time.

It has the column `split`, and `path` or `group`: with both, the path is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from audioloom_storage import Location, open_read
from numpy.typing import NDArray

from audioloom_sharder.errors import BadTable
from audioloom_sharder.splits.hashing import group_hashes
from audioloom_sharder.splits.ratios import MOST_SPLITS, check_name

SPLIT, PATH, GROUP = "split", "path", "group"
MOST_LINE_BYTES = 1 << 20
_ROWS = 8192
_BLOCK = 4 << 20
_HINT = "It has a column split, and a column path or group; the first line of CSV names them."


class Said(NamedTuple):
    """What a table says.

    Attributes:
        names: the splits, sorted.
        keys: hashes of the paths or groups, ascending: shape (rows,).
        splits: of each, the number of its split.
    """

    names: tuple[str, ...]
    keys: NDArray[np.uint64]
    splits: NDArray[np.uint8]


def key_of_table(where: Location) -> Literal["group", "recording"]:
    """What a table says the splits of.

    Raises:
        BadTable: it is no table, or lacks the columns.
        StorageError: it cannot be read.
    """
    names = _names(where)
    key = PATH if PATH in names else GROUP
    for column in (SPLIT, key):
        if (times := names.count(column)) != 1:
            raise BadTable(
                expected=f"a column {column}{' or path' if column == GROUP else ''}, once",
                found="twice" if times else f"the columns {', '.join(names)[:300]}",
                where=where,
                hint=_HINT,
            )
    return "recording" if key == PATH else "group"


def read_table(where: Location, *, seed: int) -> Said:
    """Read the whole table into 9 bytes a row; rows with an empty split say nothing.

    Raises:
        BadTable: it is damaged, names a bad split or too many, or says two things of one key.
    """
    column = PATH if key_of_table(where) == "recording" else GROUP
    numbers: dict[str, int] = {}
    keys, splits = [np.empty(0, np.uint64)], [np.empty(0, np.uint8)]
    for words, said in _rows(where, column):
        for name in sorted(set(said) - numbers.keys()):
            numbers[check_name(name, where=where)] = len(numbers)
        if len(numbers) > MOST_SPLITS:
            raise BadTable(
                expected=f"at most {MOST_SPLITS} splits", found=f"{len(numbers)}", where=where
            )
        keys.append(group_hashes(words, seed=seed))
        splits.append(np.array([numbers[name] for name in said], np.uint8))
    names = tuple(sorted(numbers))
    places = np.array([names.index(name) for name in numbers], np.uint8)
    key, split = np.concatenate(keys), np.concatenate(splits)
    if len(split):
        split = places[split]
    order = np.lexsort((split, key))
    key, split = key[order], split[order]
    same = key[1:] == key[:-1]
    if (torn := np.flatnonzero(same & (split[1:] != split[:-1]))).size:
        _tell(where, column, int(key[torn[0]]), seed)
    first = np.r_[True, ~same] if len(key) else same
    return Said(names, key[first], split[first])


def _tell(where: Location, column: str, key: int, seed: int) -> None:
    """Say which key has two splits, by a second look."""
    found: dict[str, set[str]] = {}
    for words, said in _rows(where, column):
        hashes = group_hashes(words, seed=seed)
        for at in np.flatnonzero(hashes == np.uint64(key)).tolist():
            found.setdefault(words[at], set()).add(said[at])
    word, splits = next((word, some) for word, some in found.items() if len(some) > 1)
    raise BadTable(
        expected=f"one split for each {column}",
        found=f"{' and '.join(sorted(splits))} for {word!r:.300}",
        where=where,
    )


def _rows(where: Location, column: str) -> Iterator[tuple[list[str], list[str]]]:
    """Keys and their splits, a few thousand at once; those without either are passed over."""
    for batch in _batches(where, [column, SPLIT]):
        try:
            words, said = (batch.column(name).cast(pa.string()) for name in (column, SPLIT))
        except pa.ArrowException as error:
            raise BadTable(
                expected="text in every column", found=str(error)[:300], where=where, hint=_HINT
            ) from error
        pairs = zip(words.to_pylist(), said.to_pylist(), strict=True)
        both = [(word, split) for word, split in pairs if word and split]
        yield [word for word, _ in both], [split for _, split in both]


def _names(where: Location) -> list[str]:
    with _reading(where), open_read(where) as file:
        if file.read(4) == b"PAR1":
            file.seek(0)
            with pq.ParquetFile(file) as parquet:
                return list(parquet.schema_arrow.names)
        file.seek(0)
        line = file.readline(MOST_LINE_BYTES + 1)
    if len(line) > MOST_LINE_BYTES or b"\0" in line or not line.strip():
        raise BadTable(
            expected="Parquet, or CSV whose first line names the columns",
            found=f"a first line of {len(line)} bytes, {line[:40]!r}",
            where=where,
            hint=_HINT,
        )
    text = line.decode("utf-8-sig", errors="replace").strip("\r\n")
    return [name.strip().strip('"') for name in text.split(_delimiter(line))]


def _delimiter(line: bytes) -> str:
    return next((mark for mark in "\t;" if mark.encode() in line), ",")


def _batches(where: Location, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with _reading(where), open_read(where) as file:
        if file.read(4) == b"PAR1":
            file.seek(0)
            with pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as parquet:
                yield from parquet.iter_batches(_ROWS, columns=columns, use_threads=False)
            return
        file.seek(0)
        delimiter = _delimiter(file.readline(MOST_LINE_BYTES))
        file.seek(0)
        with pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=columns,
                strings_can_be_null=False,
            ),
        ) as reader:
            yield from reader


@contextmanager
def _reading(where: Location) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise BadTable(
            expected="Parquet, or CSV in UTF-8 with as many fields in each line as in the first",
            found=" ".join(str(error).split())[:300],
            where=where,
            hint=_HINT,
        ) from error
