from __future__ import annotations

import io

import numpy as np
import pytest
from audioloom_trainer.errors import ShardMismatch, UnknownLabel
from audioloom_trainer.shards.index import Index, parse_index
from numpy.typing import NDArray

RECORD, VALUES, FRAME = 120, 48, 12
GOOD = np.array([[k * RECORD, RECORD, k * RECORD + 30, k % 3] for k in range(5)], dtype="<i8")


def parse(data: bytes, *, classes: int | None = 3) -> Index:
    return parse_index(
        data, "an-index", records=5, size=5 * RECORD, value_bytes=VALUES, classes=classes
    )


def as_bytes(rows: NDArray[np.generic], *, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, rows, allow_pickle=pickled)
    return stream.getvalue()


def changed(row: int, column: int, value: int) -> bytes:
    rows = GOOD.copy()
    rows[row, column] = value
    return as_bytes(rows)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        as_bytes(GOOD)[:-1],
        as_bytes(GOOD) + b"\0",
        as_bytes(GOOD.astype("<i4")),
        as_bytes(GOOD.astype(">i8")),
        as_bytes(GOOD.astype("<f8")),
        as_bytes(GOOD[:, :3]),
        as_bytes(GOOD.ravel()),
        as_bytes(GOOD[:0]),
        as_bytes(np.array([[{}] * 4], dtype=object), pickled=True),
    ],
)
def test_what_is_no_index_is_refused(data: bytes) -> None:
    """Nothing is unpickled, nothing converted."""
    with pytest.raises(ShardMismatch, match="an-index"):
        parse(data)


@pytest.mark.parametrize(
    "data",
    [
        as_bytes(GOOD[:4]),
        changed(0, 0, 1),
        changed(2, 0, 2 * RECORD + 1),
        changed(2, 1, RECORD - 1),
        changed(4, 1, RECORD + 1),
        changed(4, 1, 2**62),
        changed(4, 1, -(2**62)),
        changed(0, 0, -(2**63)),
        changed(0, 2, FRAME - 1),
        changed(1, 2, RECORD - VALUES),
        changed(1, 2, 2 * RECORD - VALUES),
        changed(1, 2, -(2**60)),
        changed(1, 2, 2**63 - 1),
    ],
)
def test_an_index_that_lies_is_refused(data: bytes) -> None:
    """Records follow each other to the end of the shard, and hold their values."""
    with pytest.raises(ShardMismatch, match="an-index"):
        parse(data)


@pytest.mark.parametrize("label", [-1, 3, 2**40])
def test_a_label_outside_the_vocabulary_is_refused(label: int) -> None:
    """By record, and how many more there are."""
    with pytest.raises(UnknownLabel, match=f"0 to 2, found {label} at record 3, and 0 more"):
        parse(changed(3, 3, label))


def test_numbers_need_no_labels() -> None:
    """A regression has the class number -1 throughout."""
    rows = GOOD.copy()
    rows[:, 3] = -1
    found = parse(as_bytes(rows), classes=None)
    assert [-1] * 5 == found.label.tolist()


def test_a_good_index_is_read() -> None:
    """A column each."""
    found = parse(as_bytes(GOOD))
    columns = [found.offset, found.length, found.values, found.label]
    assert GOOD.tolist() == np.stack(columns, axis=1).tolist()
