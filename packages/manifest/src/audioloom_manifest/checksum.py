"""Checksums of a file, computed as its bytes pass."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Protocol

import google_crc32c
import numpy as np
from numpy.typing import NDArray

_COPY_BYTES = 1 << 16
_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected: the highest bit is the power 0


class Recorded(Protocol):
    """The checksums of a file or of its content, as a files list has them."""

    @property
    def sha256(self) -> str:
        """SHA-256 in hex."""

    @property
    def crc32c(self) -> str | None:
        """CRC-32C as 8 hex digits; None in a list that was written before version 1.1."""


class Checksums:
    """Computes all checksums that an entry of a files list has, of the bytes that pass."""

    def __init__(self, names: Iterable[str] = ("sha256", "crc32c")) -> None:
        self._hashes = {name: _HASHES[name]() for name in names}

    def update(self, piece: bytes | memoryview, crc32c: int | None = None) -> None:
        """Take the next piece of the file; perhaps its CRC-32C is known."""
        for each in self._hashes.values():
            if crc32c is not None and isinstance(each, _Crc32c):
                each.append(crc32c, len(piece))
            else:
                each.update(piece)

    def fields(self) -> dict[str, Any]:
        """Return the checksums by the names of their fields in an entry."""
        return {name: each.hexdigest() for name, each in self._hashes.items()}

    def difference(self, recorded: Recorded) -> tuple[str, str] | None:
        """Return the expected and the found checksum, for an error, if one differs."""
        for name, found in self.fields().items():
            expected = getattr(recorded, name)
            if expected not in (None, found):
                return f"{_TITLES[name]} {expected}", found
        return None


def checksums_of(data: bytes) -> dict[str, Any]:
    """Return the checksums of a small file by the names of their fields in an entry."""
    checksums = Checksums()
    checksums.update(data)
    return checksums.fields()


class QuickComparison:
    """Compares the bytes that pass with the cheapest recorded checksum: CRC-32C, or else SHA-256.

    CRC-32C takes a sixth of the processor time. It finds damage, and only SHA-256 finds forgery.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._checksums = Checksums(["sha256" if recorded.crc32c is None else "crc32c"])
        self.update = self._checksums.update

    def difference(self) -> tuple[str, str] | None:
        """Return the expected and the found checksum, for an error, if they differ."""
        return self._checksums.difference(self._recorded)


def joined_crc32c(crcs: Sequence[int], lengths: Sequence[int]) -> int:
    """Return the CRC-32C of some pieces one after another, from those of the pieces.

    The CRC of a piece followed by n bytes is its own times x^8n, modulo the polynomial (as in
    `crc32_combine` of zlib).

    Args:
        crcs: of the pieces.
        lengths: of the pieces, in bytes.
    """
    values, sizes = np.array(crcs, np.uint32), np.array(lengths, np.int64)
    follow = sizes.sum() - np.cumsum(sizes)
    for bit in range(int(follow.max(initial=0)).bit_length()):
        there = (follow >> bit & 1).astype(bool)
        low, second, third, high = _moved(bit)
        some = values[there]
        values[there] = (
            low[some & 255] ^ second[some >> 8 & 255] ^ third[some >> 16 & 255] ^ high[some >> 24]
        )
    return int(np.bitwise_xor.reduce(values, initial=0))


@cache
def _moved(bit: int) -> NDArray[np.uint32]:
    """Return the CRCs of all values of each byte of a CRC, times x^8n for n = 2**bit: (4, 256)."""
    power = 1 << 23  # x^8
    for _ in range(bit):
        power = _product(power, power)
    tables = np.zeros((4, 256), np.uint32)
    for place in reversed(range(32)):  # the place 31 is the power 0
        byte, inside = divmod(place, 8)
        numbers = np.arange(256)
        tables[byte, numbers >> inside & 1 == 1] ^= np.uint32(power)
        power = _times_x(power)
    return tables


def _product(a: int, b: int) -> int:
    """Multiply two polynomials modulo that of CRC-32C."""
    product = 0
    for place in reversed(range(32)):
        if a >> place & 1:
            product ^= b
        b = _times_x(b)
    return product


def _times_x(value: int) -> int:
    return value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)


class _Crc32c:
    """CRC-32C (Castagnoli, RFC 3720), with the methods of the hashes of hashlib."""

    def __init__(self) -> None:
        self._value = 0
        self._crcs: list[int] = []
        self._lengths: list[int] = []

    def append(self, crc32c: int, length: int) -> None:
        """Take the next piece by its own CRC-32C; all pieces must be taken so, or none."""
        self._crcs.append(crc32c)
        self._lengths.append(length)

    def update(self, piece: bytes | memoryview) -> None:
        if isinstance(piece, bytes):
            self._value = google_crc32c.extend(self._value, piece)
            return
        # google-crc32c refuses a memoryview. Small copies cost less than their checksums; a large
        # copy would be fresh memory each time, whose first touch costs more.
        for start in range(0, len(piece), _COPY_BYTES):
            copy = bytes(piece[start : start + _COPY_BYTES])
            self._value = google_crc32c.extend(self._value, copy)

    def hexdigest(self) -> str:
        value = joined_crc32c(self._crcs, self._lengths) if self._crcs else self._value
        return f"{value:08x}"


_HASHES: dict[str, Any] = {"sha256": hashlib.sha256, "crc32c": _Crc32c}
_TITLES = {"sha256": "SHA-256", "crc32c": "CRC-32C"}
