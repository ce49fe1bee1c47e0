"""Checksums of pieces, joined."""

import google_crc32c
from audioloom_manifest.records.crc32c import joined_crc32c
from hypothesis import given
from hypothesis import strategies as st


@given(pieces=st.lists(st.binary(max_size=400), max_size=8))
def test_the_joined_checksum_is_that_of_the_joined_bytes(pieces: list[bytes]) -> None:
    """No pieces, and empty ones, are pieces too."""
    found = joined_crc32c([google_crc32c.value(one) for one in pieces], [*map(len, pieces)])
    assert google_crc32c.value(b"".join(pieces)) == found


@given(length=st.integers(0, 1 << 50), more=st.integers(0, 1 << 50), crc=st.integers(0, 2**32 - 1))
def test_checksums_join_beyond_any_memory(length: int, more: int, crc: int) -> None:
    """Zeros cost no time, and how they are divided does not matter."""
    whole = joined_crc32c([crc, 0], [4, length + more])
    assert whole == joined_crc32c([crc, 0, 0], [4, length, more])
    assert whole == joined_crc32c([joined_crc32c([crc, 0], [4, more]), 0], [4 + more, length])
