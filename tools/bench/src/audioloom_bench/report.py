"""What a benchmark says: a table for people, one JSON object, a picture."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from audioloom_bench.measure import Lane


def machine() -> dict[str, Any]:
    """What the figures were taken on: they compare within one run only."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def as_object(benchmark: str, lanes: Sequence[Lane]) -> dict[str, Any]:
    """The one object that `--json` writes."""
    return {
        "benchmark": benchmark,
        "machine": machine(),
        "lanes": [_finite(asdict(lane)) for lane in lanes],
    }


def _finite(lane: dict[str, Any]) -> dict[str, Any]:
    """JSON has no word for a ratio that there is not."""
    return {key: None if value != value else value for key, value in lane.items()}  # noqa: PLR0124


def as_table(lanes: Sequence[Lane]) -> str:
    """The lanes as aligned text."""
    rows = [("input", "lane", "value", "", "× naive", "× floor")]
    rows += [
        (each.input, each.lane, _shown(each.value), each.unit,
         _times(each.vs_naive), _times(each.vs_floor))
        for each in lanes
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if place in (2, 4, 5) else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _times(ratio: float) -> str:
    return "" if math.isnan(ratio) else f"{ratio:.2f}"


def write_json(benchmark: str, lanes: Sequence[Lane], target: Path) -> None:
    """Write the JSON object."""
    target.write_text(json.dumps(as_object(benchmark, lanes), indent=2) + "\n")


def write_png(benchmark: str, lanes: Sequence[Lane], target: Path) -> None:
    """Draw a panel an input and in it a bar a lane, in multiples of the naive lane.

    What has no naive lane beside it is in the table alone.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - a second of import

    lanes = [each for each in lanes if not math.isnan(each.vs_naive)]
    inputs = list(dict.fromkeys(each.input for each in lanes))
    figure = Figure(figsize=(9, 0.4 * len(lanes) + 0.7 * len(inputs) + 0.8), layout="constrained")
    panels = figure.subplots(len(inputs), squeeze=False)[:, 0]
    colours = {"naive": "#b0b0b0", "floor": "#4c72b0"}
    for axes, name in zip(panels, inputs, strict=True):
        shown = [each for each in lanes if each.input == name]
        bars = axes.barh(
            [each.lane for each in shown],
            [each.vs_naive for each in shown],
            color=[colours.get(each.lane, "#55a868") for each in shown],
        )
        texts = [f"{each.vs_naive:.2f}×   {each.value:,.0f} {each.unit}" for each in shown]
        axes.bar_label(bars, labels=texts, padding=4)
        axes.set_title(name, loc="left", fontsize="medium")
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, 1.5 * max(each.vs_naive for each in shown))
    panels[-1].set_xlabel("times the naive lane (higher is better)")
    figure.suptitle(f"audioloom: {benchmark}")
    figure.savefig(target, dpi=120)
