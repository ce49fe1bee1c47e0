"""The headline of a report: the score of each split with its interval, records and groups."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from audioloom_runs.pages.markup import Markup, element
from audioloom_runs.pages.parts import note, number

_Z = 1.959964
"""Deviations of a normal distribution that 95 % lie within."""


def headline(splits: Mapping[str, Any]) -> Markup:
    """Make a card for each split: accuracy with its interval, or the loss where there is none."""
    cards = [_card(name, found) for name, found in splits.items()]
    text = (
        "95 % intervals are Wilson's, over records. Records of one group resemble one another, so"
        " with few groups a score on new groups may lie further away."
    )
    wilson = any("confusion" in found for found in splits.values())
    return element("div", element("div", *cards, class_="cards"), note(text) if wilson else None)


def _card(name: str, found: Mapping[str, Any]) -> Markup:
    scores, records = found["scores"], found["records"]
    groups = f", from {found['groups']:,} groups" if found.get("groups") else ""
    if "confusion" not in found:
        base = scores.get("mse_of_mean")
        beside = f"always answering the mean of train: {number(base)}" if base is not None else ""
        told = [f"{records:,} records{groups}", beside]
        return _shown(f"loss on {name}", number(scores.get("loss")), told)
    right = sum(row[at] for at, row in enumerate(found["confusion"]))
    low, high = wilson_interval(right, records)
    guesses = [f"{key} {scores[key]:.3f}" for key in ("chance", "majority") if key in scores]
    told = [
        f"95 % interval {low:.3f} to {high:.3f}",
        f"{right:,} of {records:,} records right{groups}",
        ", ".join([f"macro-F1 {macro_f1(found['confusion']):.3f}", *guesses]),
    ]
    return _shown(f"accuracy on {name}", f"{right / records:.3f}", told)


def _shown(what: str, value: str, told: Sequence[str]) -> Markup:
    lines = (element("span", line) for line in told if line)
    return element("div", element("span", what), element("b", value), *lines)


def wilson_interval(right: int, records: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, 0 to 1 (Wilson 1927, without correction).

    *records* are at least one.
    """
    share, weight = right / records, _Z**2 / records
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * sqrt(share * (1 - share) / records + weight / (4 * records)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def macro_f1(matrix: Sequence[Sequence[int]]) -> float:
    """Return the mean F1 of the classes that are true or predicted at least once, 0 to 1.

    *matrix* counts records: (true class, predicted class).
    """
    columns = zip(*matrix, strict=True)
    totals = [sum(row) + sum(column) for row, column in zip(matrix, columns, strict=True)]
    scores: list[float] = [2 * matrix[at][at] / total for at, total in enumerate(totals) if total]
    return sum(scores) / max(1, len(scores))
