"""The error budget limits the refused recordings of a run that is committed."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import get_args

from audioloom_audio import Kind

from audioloom_featurizer.errors import InvalidOption, NothingReadable, TooManyRefused
from audioloom_featurizer.sandbox.messages import Cause

WORST = 5
FLOOR = 3
"""Recordings that any share above 0 allows, but no more than a quarter of them all."""

STOPS_ABOVE = 1000
"""A run of more recordings stops when its failure is certain; a smaller one finds all refusals."""

CLASSES: tuple[str, ...] = (*get_args(Kind), *get_args(Cause))
"""Every class of refusal."""

_FLAG = "--error-budget"


@dataclass(frozen=True)
class ErrorBudget:
    """The limits of a run: one for most classes together, and limits of single classes.

    Attributes:
        text: the budget as written in the option: "1%", "1%,damaged=0,empty=10%".
        rest: the common limit of all classes without a limit of their own: "1%", "25".
        classes: limits of single classes, which do not count towards the rest.
    """

    text: str
    rest: str
    classes: Mapping[str, str]


def allowed(limit: str, recordings: int) -> int:
    """The number of refusals allowed among *recordings*.

    A share is rounded down, but above 0 it allows a few: one stray file fails no small folder.

    Raises:
        InvalidOption: the limit is neither a share nor a number.
    """
    match = re.fullmatch(r"([0-9]{1,18})|([0-9]{1,18}(?:\.[0-9]{1,9})?)%", limit.strip())
    if match is None or (match[2] and Fraction(match[2]) > 100):  # noqa: PLR2004
        raise InvalidOption(
            where=_FLAG,
            expected="a share such as 1% or 0.5%, or a number of recordings such as 25",
            found=repr(limit),
        )
    if match[1]:
        return int(match[1])
    share = Fraction(match[2])  # 0.07 of 100 is 7.000000000000001 in floats
    return max(int(recordings * share / 100), min(FLOOR, recordings // 4) if share else 0)


def parse_budget(text: str, default: str) -> ErrorBudget:
    """Parse a budget such as "1%" or "1%,damaged=0"; *default* applies if only classes are named.

    Raises:
        InvalidOption: an invalid limit, two limits for one class, or an unknown class.
    """
    rest: list[str] = []
    classes: dict[str, str] = {}
    for part in text.split(","):
        kind, equals, limit = (word.strip() for word in part.rpartition("="))
        allowed(limit, 0)  # fail now instead of at the end of a night's run
        if not equals:
            rest.append(limit)
        elif kind not in CLASSES:
            near = get_close_matches(kind, CLASSES, 1)
            raise InvalidOption(
                where=_FLAG,
                expected=f"a class of the ledger: {near[0] if near else ', '.join(CLASSES)}",
                found=repr(kind),
            )
        elif kind in classes:
            raise InvalidOption(where=_FLAG, expected="each class once", found=f"{kind} twice")
        else:
            classes[kind] = limit
    if len(rest) > 1:
        expected = "one share for all classes without one"
        raise InvalidOption(where=_FLAG, expected=expected, found=" and ".join(rest))
    return ErrorBudget(text, rest[0] if rest else default, classes)


@dataclass
class Refusals:
    """The number of refusals by class, with one example (path, message) of each class."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Sequence[str]] = field(default_factory=dict)

    def worst(self) -> str:
        """The most frequent classes as text lines, each with an example."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        lines = []
        for kind, count in ordered[:WORST]:
            path, message = self.examples.get(kind, ("", ""))
            lines.append(f"{count} × {kind}, such as {path}: {message}")
        if len(ordered) > WORST:
            lines.append(f"and {len(ordered) - WORST} more classes")
        return "\n".join(lines)


def check_budget(
    refusals: Refusals, *, budget: ErrorBudget, recordings: int, done: int, where: object
) -> None:
    """Stop a run that refuses too many recordings: a large one as soon as that is certain.

    Raises:
        NothingReadable: all recordings are processed and all were refused.
        TooManyRefused: the budget is exceeded, even if all other recordings succeed.
    """
    total = refusals.counts.total()
    if done == recordings and total == recordings:
        raise NothingReadable(
            "no recording could be read, so nothing was committed",
            where=where,
            expected="recordings that can be decoded",
            found=f"{recordings} refused:\n{refusals.worst()}",
            hint="Check that the source holds recordings, and what --suffix takes.",
        )
    if done < recordings <= STOPS_ABOVE:
        return
    limits = [
        (f" of class {kind}", limit, refusals.counts[kind])
        for kind, limit in budget.classes.items()
    ]
    beside = f" beside {', '.join(budget.classes)}" if limits else ""
    limits.append((beside, budget.rest, total - sum(count for _, _, count in limits)))
    for which, limit, found in limits:
        if found > (most := allowed(limit, recordings)):
            listed = f" ({total} with those under other limits)" if total > found else ""
            raise TooManyRefused(
                "too many recordings were refused, so nothing was committed",
                where=where,
                expected=f"at most {most} of {recordings} refused{which} ({_FLAG} {budget.text})",
                found=f"{found} refused among the first {done}{listed}:\n{refusals.worst()}",
                hint="Fix or leave out those recordings and scan again, or allow more with"
                f" {_FLAG}: finished units are kept.",
            )
