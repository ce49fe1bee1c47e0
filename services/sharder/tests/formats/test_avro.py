from __future__ import annotations

import io
from itertools import pairwise

import fastavro
import numpy as np
import pytest
from audioloom_manifest.records.example import Record
from audioloom_sharder.errors import DamagedRecord
from audioloom_sharder.formats import avro
from audioloom_sharder.rules import Rules
from audioloom_storage.errors import Unavailable
from sharder_rules import rules_of

VALUES = np.arange(12, dtype="<f4") / 7
RECORDS = [
    Record(
        channel=-1,
        group=f"speaker {number}",
        label="é" * (number % 3),
        label_id=number % 3 - 1,
        values=(VALUES + number).tobytes(),
        path=f"{number}.wav",
        target=None,
        valid_frames=3,
        window=number * 1000,
    )
    for number in range(50)
]


def rules(dtype: str, compression: str = "none", *, target: bool = False) -> Rules:
    learned = "number" if target else "label"
    return rules_of(dtype=dtype, compression=compression, target=learned)


def written(compression: str = "none", records: list[Record] | None = None) -> bytes:
    found = RECORDS if records is None else records
    target = found[0].target is not None
    return b"".join(avro.write(found, rules("float32", compression, target=target)))


def read(data: bytes, compression: str = "none", *, target: bool = False) -> list[Record]:
    return list(avro.read(io.BytesIO(data), rules("float32", compression, target=target)))


def test_every_cut_and_every_changed_byte_is_no_other_error() -> None:
    """Whatever a file holds, it is read or refused; a cut one is refused, but between blocks."""
    data = written()
    for size in range(0, len(data), 5):
        with pytest.raises(DamagedRecord):
            read(data[:size])
    for at in range(0, len(data), 11):
        changed = bytearray(data)
        changed[at] ^= 0x40
        try:
            assert len(RECORDS) == len(read(bytes(changed)))
        except DamagedRecord:
            continue


def test_the_storage_fails_by_its_own_name() -> None:
    """What is no damage of the file is not called so."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > len(written()) // 2:
                raise Unavailable("no answer")
            return super().read(size)

    with pytest.raises(Unavailable):
        list(avro.read(Failing(written()), rules("float32")))


@pytest.mark.parametrize(("compression", "target"), [("deflate", False), ("none", True)])
def test_another_schema_or_codec_is_refused(compression: str, target: bool) -> None:
    """A file says what it is; it has to be what the manifest says."""
    with pytest.raises(DamagedRecord, match="schema and codec"):
        read(written(), compression, target=target)


@pytest.mark.parametrize("compression", ["none", "deflate"])
@pytest.mark.parametrize("target", [None, 0.5])
def test_what_was_written_is_read(compression: str, target: float | None) -> None:
    """Every field of every record, and the same bytes when they are written again."""
    records = [record._replace(target=target) for record in RECORDS]
    data = written(compression, records)
    assert records == read(data, compression, target=target is not None)
    assert data == written(compression, records)


def test_half_precision_is_widened() -> None:
    """Avro has no such numbers; what comes back is what was there."""
    halves = [record._replace(values=VALUES.astype("<f2").tobytes()) for record in RECORDS]
    data = b"".join(avro.write(halves, rules("float16")))
    assert halves == list(avro.read(io.BytesIO(data), rules("float16")))


def test_blocks_are_of_bounded_size() -> None:
    """So that a reader holds a megabyte or so at a time, whatever the file's size."""
    large = [record._replace(values=bytes(400_000)) for record in RECORDS[:9]]
    blocks = list(fastavro.block_reader(io.BytesIO(written(records=large))))
    assert [3, 3, 3] == [block.num_records for block in blocks]
    assert all(one.offset < two.offset for one, two in pairwise(blocks))
