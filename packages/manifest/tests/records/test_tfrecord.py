"""Framing: every way to be cut or changed."""

from __future__ import annotations

import io

import google_crc32c
import numpy as np
import pytest
from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES, check, frame, masked_crc, read
from hypothesis import given
from hypothesis import strategies as st

payloads = st.lists(st.binary(max_size=300), max_size=6)


def test_masked_crc_of_known_bytes() -> None:
    """CRC-32C of 32 zero bytes (RFC 3720) is 8a9136aa; masked by rotation and addition."""
    expected = ((0x8A9136AA >> 15 | 0x8A9136AA << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert expected == masked_crc(bytes(32))


@given(payloads=payloads)
def test_read_gives_what_was_framed(payloads: list[bytes]) -> None:
    """Every payload comes back, at the offset where it was put, and `check` gives the CRC-32C."""
    stream = io.BytesIO(b"".join(map(frame, payloads)))
    frames = list(read(stream))
    assert payloads == [one.payload for one in frames]
    for one in frames:
        record = stream.getvalue()[one.offset : one.offset + one.length]
        assert google_crc32c.value(record) == check(np.frombuffer(record, np.uint8))


@given(cut=st.integers(1, 2 * OVERHEAD_BYTES + 8 - 1))
def test_a_cut_file_is_damage_except_between_records(cut: int) -> None:
    """A cut inside a record is told with its offset, in a header too; between records not."""
    data = frame(b"abcd") + frame(b"efgh")
    whole = OVERHEAD_BYTES + 4
    if cut == whole:
        assert [b"abcd"] == [one.payload for one in read(io.BytesIO(data[:cut]))]
        return
    with pytest.raises(RecordError, match=f"at byte {0 if cut < whole else whole}: "):
        list(read(io.BytesIO(data[:cut])))


@given(place=st.integers(0, OVERHEAD_BYTES + 3), bit=st.integers(0, 7))
def test_any_flipped_bit_is_damage(place: int, bit: int) -> None:
    """In the length, in the payload and in either checksum."""
    data = bytearray(frame(b"abcd"))
    data[place] ^= 1 << bit
    with pytest.raises(RecordError):
        list(read(io.BytesIO(bytes(data))))
    with pytest.raises(RecordError):
        check(np.frombuffer(bytes(data), np.uint8))


def test_an_enormous_length_is_not_allocated() -> None:
    """A length with a right checksum beyond any record of ours is damage."""
    import struct

    length = struct.pack("<Q", 1 << 60)
    with pytest.raises(RecordError, match="a payload of"):
        list(read(io.BytesIO(length + struct.pack("<I", masked_crc(length)))))
