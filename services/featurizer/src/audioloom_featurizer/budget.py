"""The error budget: how many refused recordings a run may have and still be committed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audioloom_featurizer.errors import BadWish, NothingReadable, TooManyRefused

WORST = 5


@dataclass(frozen=True)
class Budget:
    """A share of the recordings, or a number of them.

    Attributes:
        text: as it was given: "1%", "25".
    """

    text: str

    def allowed(self, recordings: int) -> int:
        """How many of so many recordings may be refused: a share is rounded down.

        Raises:
            BadWish: the text is neither.
        """
        match = re.fullmatch(r"([0-9]{1,18})(?:(\.[0-9]{1,9})?(%))?", self.text.strip())
        if match is None or (match[3] and float(match[1] + (match[2] or "")) > 100):  # noqa: PLR2004
            raise BadWish(
                where="--error-budget",
                expected="a share such as 1% or 0.5%, or a number of recordings such as 25",
                found=repr(self.text),
            )
        if not match[3]:
            return int(match[1])
        # In whole numbers: 0.07 of 100 is 7.000000000000001 in floats.
        digits = (match[2] or ".")[1:]
        share, scale = int(match[1] + digits), int("1" + "0" * len(digits))
        return recordings * share // (100 * scale)


@dataclass(frozen=True)
class Refusals:
    """How many were refused by class, with one example (path, message) of each."""

    counts: Mapping[str, int]
    examples: Mapping[str, Sequence[str]]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    def worst(self) -> str:
        """The most frequent classes in lines, each with an example."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        lines = []
        for kind, count in ordered[:WORST]:
            path, message = self.examples.get(kind, ("", ""))
            lines.append(f"{count} × {kind}, such as {path}: {message}")
        if len(ordered) > WORST:
            lines.append(f"and {len(ordered) - WORST} more classes")
        return "\n".join(lines)


def check_budget(
    refusals: Refusals, *, budget: Budget, recordings: int, done: int, where: object
) -> None:
    """Stop a run that refuses too much, as soon as that is certain.

    Args:
        refusals: those so far.
        budget: what is allowed.
        recordings: how many the run has in all.
        done: how many of them were looked at.
        where: the source, for the error.

    Raises:
        NothingReadable: all were looked at, and every one was refused.
        TooManyRefused: the budget is exceeded, whatever the rest brings.
    """
    if done == recordings and refusals.total == recordings:
        raise NothingReadable(
            "no recording could be read, so nothing was committed",
            where=where,
            expected="recordings that can be decoded",
            found=f"{recordings} refused:\n{refusals.worst()}",
            hint="Check that the source holds recordings, and what --suffix takes.",
        )
    allowed = budget.allowed(recordings)
    if refusals.total > allowed:
        raise TooManyRefused(
            "too many recordings were refused, so nothing was committed",
            where=where,
            expected=f"at most {allowed} of {recordings} refused (--error-budget {budget.text})",
            found=f"{refusals.total} refused among the first {done}:\n{refusals.worst()}",
            hint="Mend or leave out those recordings and scan again, or allow more with"
            " --error-budget: finished units are kept.",
        )
