"""Checksums of the bytes that pass."""

import hashlib
from types import SimpleNamespace

import google_crc32c
import pytest
from audioloom_manifest.checksum import Checksums, QuickComparison, Recorded
from hypothesis import given
from hypothesis import strategies as st

CHECK = "e3069283"
"""CRC-32C of the digits 1 to 9, the check value of its catalogue entry (CRC-32/ISCSI)."""


def recorded(sha256: str, crc32c: str | None) -> Recorded:
    """Checksums as an entry has them."""
    return SimpleNamespace(sha256=sha256, crc32c=crc32c)


def test_the_checksum_is_crc_32c() -> None:
    """The check value of the catalogue of CRCs comes out, and the library is compiled."""
    found = Checksums()
    found.update(b"123456789")
    assert CHECK == found.fields()["crc32c"]
    assert google_crc32c.implementation == "c"


@given(pieces=st.lists(st.binary(max_size=40), max_size=8))
def test_pieces_and_views_make_no_difference(pieces: list[bytes]) -> None:
    """The checksums are those of the joined bytes, whether views or bytes pass."""
    whole = b"".join(pieces)
    crc = f"{google_crc32c.value(whole):08x}"
    expected = {"sha256": hashlib.sha256(whole).hexdigest(), "crc32c": crc}
    for kind in (bytes, memoryview, lambda piece: memoryview(bytearray(piece))):
        found, quick = Checksums(), QuickComparison(recorded("0" * 64, crc))
        for piece in pieces:
            found.update(kind(piece))
            quick.update(kind(piece))
        assert expected == found.fields()
        assert quick.difference() is None


@pytest.mark.parametrize(
    ("sha256", "crc32c", "expected"),
    [
        ("0" * 64, None, f"SHA-256 {'0' * 64}"),
        ("0" * 64, CHECK, f"SHA-256 {'0' * 64}"),
        (hashlib.sha256(b"123456789").hexdigest(), "00000000", "CRC-32C 00000000"),
    ],
)
def test_each_recorded_checksum_is_compared(sha256: str, crc32c: str | None, expected: str) -> None:
    """The error names the checksum that differs."""
    found = Checksums()
    found.update(b"123456789")
    different = found.difference(recorded(sha256, crc32c))
    assert different is not None
    assert expected == different[0]


def test_the_quick_comparison_takes_the_cheapest_checksum() -> None:
    """CRC-32C decides if it is recorded, and SHA-256 in an older list."""
    for crc32c, expected in (("00000000", "CRC-32C 00000000"), (None, f"SHA-256 {'0' * 64}")):
        quick = QuickComparison(recorded("0" * 64, crc32c))
        quick.update(b"123456789")
        assert quick.difference() == (
            expected, CHECK if crc32c else hashlib.sha256(b"123456789").hexdigest()
        )  # fmt: skip
