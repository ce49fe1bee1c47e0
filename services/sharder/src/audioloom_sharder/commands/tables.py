"""The table of labels whose share in a split deviates from the requested one."""

from __future__ import annotations

from collections.abc import Sequence

from audioloom_runs.tables import table

from audioloom_sharder.splits.deviation import SHOWN, Deviation


def deviations_text(found: Sequence[Deviation]) -> str:
    """The labels that are furthest from the wish, or nothing where there is no wish."""
    if not found:
        return ""
    wish = found[0].wished
    head = ("label", "records", *(f"{name} ({part:.1%})" for name, part in wish.items()))
    rows = [
        (one.label, f"{one.records:,}", *(f"{one.got[name]:.1%}" for name in wish))
        for one in found[:SHOWN]
    ]
    return f"labels that deviate most from the wish\n{table(head, rows)}"
