"""Split ratios such as ``train=0.8,val=0.1,test=0.1``, the names of splits, and path patterns.

Ratios are sorted by name, so the order in which they were written does not matter.
"""

import re
from collections.abc import Sequence
from fractions import Fraction

from audioloom_sharder.errors import BadFeatures, InvalidOption

DEFAULT_RATIOS = "train=0.8,val=0.1,test=0.1"
MOST_SPLITS = 100
NO_SPLIT = 255
"""The split number of a window or a group that has no split (yet)."""
TRAIN = "train"
"""The name of the split to train on."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_NUMBER = re.compile(r"[0-9]{0,3}(\.[0-9]{1,12})?(?<=[0-9])")
_EXAMPLE = f"write it as {DEFAULT_RATIOS}"


def parse_ratios(text: str) -> dict[str, Fraction]:
    """Read ``train=0.8,val=0.1,test=0.1``; the ratios add up to exactly 1."""
    ratios: dict[str, Fraction] = {}
    for piece in text.split(","):
        name, equals, number = (word.strip() for word in piece.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise InvalidOption(
                f"{piece.strip()!r} is not NAME=RATIO with a name of small letters, digits and "
                f"underscores; {_EXAMPLE}"
            )
        if name in ratios:
            raise InvalidOption(f"the split {name!r} is named twice; {_EXAMPLE}")
        if not _NUMBER.fullmatch(number):
            raise InvalidOption(
                f"the ratio of {name!r} is {number!r}, expected a number like 0.1; {_EXAMPLE}"
            )
        ratios[name] = Fraction(number)
        if not ratios[name]:
            raise InvalidOption(
                f"the ratio of {name!r} is {number}; leave a split out instead of emptying it"
            )
    total = sum(ratios.values(), Fraction(0))
    if total != 1:
        raise InvalidOption(f"the ratios add up to {float(total):g}, expected 1; {_EXAMPLE}")
    return dict(sorted(ratios.items()))


def check_split_name(name: str, *, where: object, hint: str = "") -> str:
    """Check a split name that comes from data: it becomes part of the names of files.

    *hint* says how to give another name.

    Raises:
        BadFeatures: the name has a character that is not allowed.
    """
    if not _NAME.fullmatch(name):
        raise BadFeatures(
            expected="splits named by small letters, digits and underscores, such as train",
            found=f"{name!r:.100}",
            where=where,
            hint=hint,
        )
    return name


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that finds the split in a path; its only named group is `split`.

    Raises:
        InvalidOption: it is no regular expression, or its named groups are not just `split`.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise InvalidOption(
            "the pattern is no regular expression",
            expected="Python's syntax, such as (?P<split>[^/]+)/.*",
            found=str(error),
            where=f"--split-pattern {text}",
        ) from None
    if {*pattern.groupindex} != {"split"}:
        raise InvalidOption(
            expected="the named group (?P<split>…), no others",
            found=", ".join(sorted(pattern.groupindex)) or "no named group",
            where=f"--split-pattern {text}",
        )
    return pattern


def split_of_path(pattern: re.Pattern[str], path: str) -> str | None:
    """Return the split that the pattern finds in *path*; None unless it matches all of *path*."""
    match = pattern.fullmatch(path)
    return (match["split"] or None) if match else None


def training_split(names: Sequence[str]) -> str:
    """Return the split to train on: ``train``, or the only split; else raise InvalidOption."""
    if TRAIN in names:
        return TRAIN
    if len(names) == 1:
        return names[0]
    raise InvalidOption(
        f"no split is named {TRAIN!r}, and class weights need a split to train on; the splits are"
        f" {', '.join(names)}"
    )
