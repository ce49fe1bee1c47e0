"""The CRC-32C of some pieces as a whole, from those of the pieces."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected: the highest bit is the power 0


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
