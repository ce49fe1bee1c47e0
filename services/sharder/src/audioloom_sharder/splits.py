"""Which split a group belongs to: a stable hash against fixed bounds.

The answer for a group depends on its name, the seed and the shares alone. So adding recordings
never moves a group, and no group lies in two splits. Shares are taken in the order of their names,
so the order in which they were asked for does not matter either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audioloom_sharder.errors import BadSplit

__all__ = [
    "TRAIN",
    "Share",
    "from_recorded",
    "parse_shares",
    "recorded",
    "split_of",
    "trained_split",
]

TRAIN = "train"
"""The split that a trainer takes."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_NUMBER = re.compile(r"[0-9]{0,3}(\.[0-9]{1,12})?(?<=[0-9])")
_EXAMPLE = "write it as train=0.8,val=0.1,test=0.1"


class Share(NamedTuple):
    """A split's name and the part of the groups it is to get, exact."""

    split: str
    part: Fraction


def parse_shares(text: str) -> tuple[Share, ...]:
    """Read ``train=0.8,val=0.1,test=0.1``; the parts have to add up to 1 exactly."""
    shares: list[Share] = []
    for piece in text.split(","):
        name, equals, part = (word.strip() for word in piece.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise BadSplit(
                f"{piece.strip()!r} is not NAME=PART with a name of small letters, digits and "
                f"underscores; {_EXAMPLE}"
            )
        shares.append(Share(name, _part(name, part)))
    names = [share.split for share in shares]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise BadSplit(f"the split {repeated!r} is named twice; {_EXAMPLE}")
    total = sum((share.part for share in shares), Fraction(0))
    if total != 1:
        raise BadSplit(f"the parts add up to {float(total):g}, expected 1; {_EXAMPLE}")
    return tuple(sorted(shares))


def _part(name: str, text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise BadSplit(f"the part of {name!r} is {text!r}, expected a number like 0.1; {_EXAMPLE}")
    part = Fraction(text)
    if part <= 0:
        raise BadSplit(f"the part of {name!r} is {text}; leave a split out instead of emptying it")
    return part


def trained_split(names: Sequence[str]) -> str:
    """The split that is trained on: ``train``, or the only one.

    Raises:
        BadSplit: there is none of that name among several.
    """
    if TRAIN in names:
        return TRAIN
    if len(names) == 1:
        return names[0]
    raise BadSplit(
        f"no split is named {TRAIN!r}, and --class-weights and --resample are for the one that is"
        f" trained on; there are {', '.join(names)}"
    )


def recorded(shares: Sequence[Share]) -> dict[str, float]:
    """The shares as a manifest's recipe holds them."""
    return {share.split: float(share.part) for share in shares}


def from_recorded(splits: Mapping[str, float]) -> tuple[Share, ...]:
    """The exact shares of a recipe: what the decimal number says, not its binary neighbour."""
    return tuple(sorted(Share(name, Fraction(repr(part))) for name, part in splits.items()))


def split_of(hashes: NDArray[np.uint64], shares: Sequence[Share]) -> NDArray[np.uint8]:
    """The number of the split of each group hash; shares lie one after another on [0, 2^64)."""
    bounds: list[int] = []
    upto = Fraction(0)
    for share in shares[:-1]:
        upto += share.part
        bounds.append(int(upto * (1 << 64)))
    edges = np.array(bounds, dtype=np.uint64)
    return np.searchsorted(edges, hashes, side="right").astype(np.uint8)
