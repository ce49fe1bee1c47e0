"""Which split a group belongs to: a stable hash against fixed bounds.

The answer for a group depends on its name, the seed and the shares alone. So adding recordings
never moves a group, and no group lies in two splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.wishes import Share

__all__ = ["split_of"]


def split_of(hashes: NDArray[np.uint64], shares: Sequence[Share]) -> NDArray[np.uint8]:
    """The number of the split of each group hash; shares lie one after another on [0, 2^64)."""
    bounds: list[int] = []
    upto = Fraction(0)
    for share in shares[:-1]:
        upto += share.part
        bounds.append(int(upto * (1 << 64)))
    edges = np.array(bounds, dtype=np.uint64)
    return np.searchsorted(edges, hashes, side="right").astype(np.uint8)
