"""Label, group and target of a recording, taken from its path by a pattern with named groups."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from audioloom_featurizer.errors import BadPattern, BadTarget

GROUPS = ("label", "group", "target")


@dataclass(frozen=True)
class Labels:
    """What a path says of its recording; None where it says nothing.

    Attributes:
        label: the class.
        target: the number to predict, for regression.
        group: what must not be divided between splits: a speaker, a call, a campaign.
    """

    label: str | None = None
    target: float | None = None
    group: str | None = None


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern, and check that it names at least one thing we know and nothing else.

    Raises:
        BadPattern: with the place of the fault.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise BadPattern(
            "the pattern is no regular expression",
            where=f"--pattern {text}",
            expected="Python's syntax, such as (?P<label>[^/]+)/.*",
            found=str(error),
        ) from None
    named = set(pattern.groupindex)
    if not named or named - set(GROUPS):
        raise BadPattern(
            where=f"--pattern {text}",
            expected="named groups (?P<label>…), (?P<group>…) or (?P<target>…), no others",
            found=", ".join(sorted(named)) or "no named group",
        )
    return pattern


def labels_of(path: str, pattern: re.Pattern[str]) -> Labels | None:
    """What *path* says, when the pattern describes the whole of it; None when it does not.

    A group that caught nothing, or an empty text, says nothing.

    Raises:
        BadTarget: the target is no finite number.
    """
    match = pattern.fullmatch(path)
    if match is None:
        return None
    caught = match.groupdict()
    target = caught.get("target") or None
    return Labels(
        label=caught.get("label") or None,
        target=None if target is None else _number(target, path),
        group=caught.get("group") or None,
    )


def _number(text: str, path: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTarget(
            where=path,
            expected="a finite number in the group target",
            found=repr(text),
            hint="A target is a number; for classes name the group label.",
        )
    return number
