"""Keyed hashes: the order of the records, and the split of each group, unless it is looked up.

Both depend on the seed and on content alone, never on the layout of the input files. BLAKE2b is
used because its output never changes, while NumPy's generators may change between versions.
"""

import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.splits.ratios import NO_SPLIT

#: 128 bits: among 10^9 records two equal hashes mean the same record, so a tie is a duplicate.
KEY_BYTES = 16

_RANK = b"audioloom rank"  # BLAKE2b's personalisation keeps the two uses apart
_SPLIT = b"audioloom split"


def record_key(recording: str, channel: int, window: int) -> bytes:
    """Build the unique bytes that identify a record; the length of the name comes first."""
    name = recording.encode()
    return struct.pack("<I", len(name)) + name + struct.pack("<qq", channel, window)


def rank_hashes(rows: Iterable[tuple[str, int, int]], *, seed: int) -> NDArray[np.uint64]:
    """Compute a 128-bit hash of each (recording, channel, window), shape (rows, 2): high, low."""
    hasher = _hasher(seed, _RANK, KEY_BYTES)
    return _numbers(hasher, (record_key(*row) for row in rows)).reshape(-1, 2)


def group_hashes(groups: Iterable[str], *, seed: int) -> NDArray[np.uint64]:
    """Compute a 64-bit hash of each group, shape (groups,)."""
    hasher = _hasher(seed, _SPLIT, 8)
    return _numbers(hasher, (group.encode() for group in groups))


def hash_each(names: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """Hash each of *names* as a group; every distinct name is hashed once."""
    distinct = sorted(set(names))
    by_name = dict(zip(distinct, group_hashes(distinct, seed=seed).tolist(), strict=True))
    return np.array([by_name[name] for name in names], dtype=np.uint64)


def split_of(hashes: NDArray[np.uint64], ratios: Sequence[Fraction]) -> NDArray[np.uint8]:
    """Find the split number of each group hash; ratios lie one after another on [0, 2^64).

    The split depends on group, seed and ratios alone: new recordings never move a group.
    """
    edges = np.array([int(upto * (1 << 64)) for upto in accumulate(ratios[:-1])], np.uint64)
    return np.searchsorted(edges, hashes, side="right").astype(np.uint8)


class SplitLookup(NamedTuple):
    """The split number of each key, or `NO_SPLIT`, where more than a hash decides it."""

    keys: NDArray[np.uint64]
    """Hashes of groups or recordings, ascending."""
    splits: NDArray[np.uint8]

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the split numbers of *keys*, `NO_SPLIT` for unknown keys."""
        found = np.full(len(keys), NO_SPLIT, np.uint8)
        at = np.searchsorted(self.keys, keys)
        near = np.flatnonzero(at < len(self.keys))
        known = near[self.keys[at[near]] == keys[near]]
        found[known] = self.splits[at[known]]
        return found


def _hasher(seed: int, purpose: bytes, size: int) -> blake2b:
    return blake2b(digest_size=size, key=seed.to_bytes(8, "little"), person=purpose)


def _numbers(hasher: blake2b, texts: Iterable[bytes]) -> NDArray[np.uint64]:
    digests = []
    for text in texts:
        one = hasher.copy()
        one.update(text)
        digests.append(one.digest())
    # Big-endian, so that the order of the numbers is the order of the digests' bytes.
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def run_starts(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Find the row at which each run of equal rows begins, in rows of these columns."""
    new = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.r_[len(columns[0]) > 0, new])
