from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from audioloom_featurizer import streams
from audioloom_featurizer.streams import distinct, merge_join, sorted_batches
from hypothesis import given
from hypothesis import strategies as st

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.int64())])
KEYS = st.text("abcé😀", max_size=2)
Rows = list[tuple[str, int]]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many runs of many batches, of a few rows."""
    monkeypatch.setattr(streams, "RUN_BYTES", 100)
    monkeypatch.setattr(streams, "BATCH_ROWS", 3)


def cut(rows: Rows, seed: int) -> list[pa.RecordBatch]:
    """Rows as batches of any size."""
    sizes, batches = np.random.default_rng(seed), []
    while rows:
        size = int(sizes.integers(1, 6))
        some, rows = rows[:size], rows[size:]
        columns = [pa.array(each) for each in zip(*some, strict=True)]
        batches.append(pa.record_batch([columns[0].cast(pa.string()), columns[1]], schema=SCHEMA))
    return batches


def read(batches: object) -> Rows:
    return [(row["key"], row["value"]) for batch in batches for row in batch.to_pylist()]


@given(st.lists(KEYS), st.integers(0, 5))
def test_rows_come_in_the_order_of_their_bytes(keys: list[str], seed: int) -> None:
    """All of them, each with its own values, however many runs they were sorted in."""
    rows = [(key, number) for number, key in enumerate(keys)]
    found = read(sorted_batches(cut(rows, seed), "key"))
    assert sorted(keys, key=str.encode) == [key for key, _ in found]
    assert sorted(rows) == sorted(found)


def test_what_a_sort_writes_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is left behind, wherever it is killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = sorted_batches(cut([(f"{number}", number) for number in range(100)], 1), "key")
    next(rows)
    assert [] == list(tmp_path.iterdir())


@given(st.lists(KEYS), st.sets(KEYS), st.integers(0, 5), st.integers(0, 5))
def test_every_row_finds_its_partner(
    left: list[str], right: set[str], cut_left: int, cut_right: int
) -> None:
    """Wherever either stream is cut; and what no row asked for is told."""
    ours = sorted((key, number) for number, key in enumerate(left))
    theirs = sorted((key, number) for number, key in enumerate(right))
    pieces = list(merge_join(cut(ours, cut_left), cut(theirs, cut_right), "key", (SCHEMA, SCHEMA)))
    assert ours == read(piece.left for piece in pieces)
    found = [value for piece in pieces for value in piece.right.column("value").to_pylist()]
    assert [dict(theirs).get(key) for key, _ in ours] == found
    alone = [key for key, _ in read(piece.unmatched for piece in pieces)]
    assert sorted(right - set(left)) == alone


@given(st.lists(KEYS), st.integers(0, 5))
def test_the_first_of_each_key(keys: list[str], seed: int) -> None:
    """Also where one key goes on in the next batch."""
    rows = sorted((key, number) for number, key in enumerate(keys))
    expected = [row for at, row in enumerate(rows) if not at or rows[at - 1][0] != row[0]]
    assert expected == read(distinct(cut(rows, seed), "key"))
