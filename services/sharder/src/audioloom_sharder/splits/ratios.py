"""The wish for splits: their names and parts; or the pattern by which a path says its split.

Shares are taken in the order of their names, so the order in which they were asked for does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from audioloom_sharder.errors import BadFeatures, BadSplit

DEFAULT_WISH = "train=0.8,val=0.1,test=0.1"
MOST_SPLITS = 100
TRAIN = "train"
"""The split that a trainer takes."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_NUMBER = re.compile(r"[0-9]{0,3}(\.[0-9]{1,12})?(?<=[0-9])")
_EXAMPLE = f"write it as {DEFAULT_WISH}"


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


def check_name(name: str, *, where: object) -> str:
    """A split's name as data say it: it becomes part of the names of files.

    Raises:
        BadFeatures: it has other letters.
    """
    if not _NAME.fullmatch(name):
        raise BadFeatures(
            expected="splits named by small letters, digits and underscores, such as train",
            found=f"{name!r:.100}",
            where=where,
            hint="Other names can be given in a table: --split-table.",
        )
    return name


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that says the split of a path: its one named group is `split`.

    Raises:
        BadSplit: it is no regular expression, or names something else.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise BadSplit(
            "the pattern is no regular expression",
            expected="Python's syntax, such as (?P<split>[^/]+)/.*",
            found=str(error),
            where=f"--split-pattern {text}",
        ) from None
    if {*pattern.groupindex} != {"split"}:
        raise BadSplit(
            expected="the named group (?P<split>…), no others",
            found=", ".join(sorted(pattern.groupindex)) or "no named group",
            where=f"--split-pattern {text}",
        )
    return pattern


def said_by(pattern: re.Pattern[str], path: str) -> str | None:
    """The split that *path* says, when the pattern describes the whole of it."""
    match = pattern.fullmatch(path)
    return (match["split"] or None) if match else None


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
        f"no split is named {TRAIN!r}, and class weights are for the one that is trained on; it has"
        f" {', '.join(names)}"
    )


def recorded(shares: Sequence[Share]) -> dict[str, float]:
    """The shares as a manifest's recipe holds them."""
    return {share.split: float(share.part) for share in shares}


def from_recorded(splits: Mapping[str, float]) -> tuple[Share, ...]:
    """The exact shares of a recipe: what the decimal number says, not its binary neighbour."""
    return tuple(sorted(Share(name, Fraction(repr(part))) for name, part in splits.items()))
