"""Report the deviation of each label from the requested split ratios."""

from collections.abc import Sequence

from audioloom_runs.tables import table

from audioloom_sharder.rules import Rules
from audioloom_sharder.sharding.layout import Layout
from audioloom_sharder.splits.deviation import SHOWN, Deviation, deviations


def deviations_text(found: Sequence[Deviation]) -> str:
    """List the labels furthest from the requested ratios; empty without ratios."""
    if not found:
        return ""
    ratios = found[0].requested
    head = ("label", "records", *(f"{name} ({ratio:.1%})" for name, ratio in ratios.items()))
    rows = [
        (one.label, f"{one.records:,}", *(f"{one.actual[name]:.1%}" for name in ratios))
        for one in found[:SHOWN]
    ]
    return f"labels furthest from the requested split\n{table(head, rows)}"


def deviations_of(layout: Layout, rules: Rules) -> list[Deviation]:
    """Compute the deviation of each label of a layout from the requested ratios."""
    labels = {one.name: one.labels for one in layout.splits}
    return deviations(rules.recipe.splits, labels)
