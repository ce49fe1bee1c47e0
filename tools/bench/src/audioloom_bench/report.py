"""What a benchmark says: a table for people, one JSON object, a picture."""

from __future__ import annotations

import json
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
        "lanes": [asdict(lane) for lane in lanes],
    }


def as_table(lanes: Sequence[Lane]) -> str:
    """The lanes as aligned text."""
    rows = [("input", "lane", "value", "", "× naive", "× floor")]
    rows += [
        (each.input, each.lane, f"{each.value:,.0f}", each.unit,
         f"{each.vs_naive:.2f}", f"{each.vs_floor:.2f}")
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


def write_json(benchmark: str, lanes: Sequence[Lane], target: Path) -> None:
    """Write the JSON object."""
    target.write_text(json.dumps(as_object(benchmark, lanes), indent=2) + "\n")


def write_png(benchmark: str, lanes: Sequence[Lane], target: Path) -> None:
    """Draw one bar a lane, a group of bars an input, in multiples of the naive lane."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - a second of import

    labels = [f"{each.input}\n{each.lane}" for each in lanes]
    figure = Figure(figsize=(9, 0.5 * len(lanes) + 1.2), layout="constrained")
    axes = figure.subplots()
    colours = {"naive": "#b0b0b0", "floor": "#4c72b0"}
    bars = axes.barh(
        labels, [e.vs_naive for e in lanes], color=[colours.get(e.lane, "#55a868") for e in lanes]
    )
    axes.bar_label(bars, labels=[f"{each.vs_naive:.1f}×" for each in lanes], padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("times the naive pipeline (CPU time, one core)")
    axes.set_title(f"{benchmark}: {lanes[0].unit}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(target, dpi=120)
