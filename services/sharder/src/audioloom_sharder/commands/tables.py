"""How far each label is from the requested split ratios, for reports."""

from __future__ import annotations

from collections.abc import Sequence

from audioloom_runs.tables import table

from audioloom_sharder.splits.deviation import SHOWN, Deviation


def deviations_text(found: Sequence[Deviation]) -> str:
    """The labels that are furthest from the requested ratios; empty without ratios."""
    if not found:
        return ""
    ratios = found[0].requested
    head = ("label", "records", *(f"{name} ({ratio:.1%})" for name, ratio in ratios.items()))
    rows = [
        (one.label, f"{one.records:,}", *(f"{one.actual[name]:.1%}" for name in ratios))
        for one in found[:SHOWN]
    ]
    return f"labels furthest from the requested split\n{table(head, rows)}"
