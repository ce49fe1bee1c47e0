"""Class weights: the weight of each label's records in the loss of the training split."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Literal

from audioloom_stage.escapes import printable

ClassWeights = Literal["balanced"] | dict[str, float] | None
"""Requested class weights: balanced by the counts, a weight for each label, or none."""

_SHOWN = 8
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})?")


def parse_weights(text: str) -> ClassWeights:
    """Read ``none``, ``balanced``, or ``a=1,b=2.5``.

    Raises:
        ValueError: the text has another form.
    """
    if text == "none":
        return None
    if text == "balanced":
        return "balanced"
    found: dict[str, float] = {}
    for piece in text.split(","):
        label, equals, number = (word.strip() for word in piece.rpartition("="))
        if not label or not equals or not _NUMBER.fullmatch(number) or not float(number):
            raise ValueError(
                f"{piece.strip()!r} is not LABEL=NUMBER with a number above 0; write none,"
                " balanced, or weights as a=1,b=2.5"
            )
        if label in found:
            raise ValueError(f"the label {label!r} twice")
        found[label] = float(number)
    return found


def weights_of(requested: ClassWeights, counts: Mapping[str, int]) -> dict[str, float] | None:
    """Compute the weight of each label of *counts*, in its order.

    Balanced weights are n / (k · n_label) for n records and k labels, as in scikit-learn: all
    labels have equal total weight, and a record weighs 1 on average. With weights by label, a label
    without a weight has 1.
    """
    if requested is None:
        return None
    if isinstance(requested, str):
        whole = sum(counts.values())
        return {label: whole / (len(counts) * count) for label, count in counts.items()}
    return {label: requested.get(label, 1.0) for label in counts}


def weights_text(weights: Mapping[str, float] | None) -> str:
    """Write the weights in one line; of many, only the first."""
    shown = [
        f"{printable(label)}={weight:.4g}"
        for label, weight in islice((weights or {}).items(), _SHOWN)
    ]
    return " ".join(shown) + (" …" if weights and len(weights) > _SHOWN else "")
