"""Compare with another checkout: the same benchmark there, and then here, on the same machine."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from audioloom_bench.measure import Lane


def measured_by(checkout: Path, words: Sequence[str], without: Collection[str]) -> list[Lane]:
    """The lanes that the benchmark of another checkout measures.

    Args:
        checkout: its root, where `noxfile.py` is.
        words: the benchmark and its options.
        without: variables of this process that are not for that checkout.
    """
    variables = {name: value for name, value in os.environ.items() if name not in without}
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        target = Path(folder, "lanes.json")
        command = ("uv", "run", "noxfile.py", "-s", "bench", "--", *words, f"--json={target}")
        # Too slow is a failure of the benchmark, after it has written its figures.
        subprocess.run(command, cwd=checkout, env=variables, check=False)
        return lanes_of(json.loads(target.read_text()))


def lanes_of(benchmark: Mapping[str, Any]) -> list[Lane]:
    """The lanes in the object that `--json` writes."""
    found = []
    for lane in benchmark["lanes"]:
        known: dict[str, Any] = {
            key: math.nan if value is None else value for key, value in lane.items()
        }
        found.append(Lane(**known))
    return found


def comparison(before: Sequence[Lane], now: Sequence[Lane]) -> list[Lane]:
    """The lanes of now, with ratios of now to before: of the figure, of × naive and of × floor.

    Whatever else the machine does moves the figure, and hardly the other two.
    """
    old = {(lane.input, lane.lane): lane for lane in before}
    return [
        Lane(
            lane.lane,
            lane.input,
            _ratio(lane.value, then.value),
            "× before",
            _ratio(lane.vs_naive, then.vs_naive),
            _ratio(lane.vs_floor, then.vs_floor),
        )
        for lane in now
        if (then := old.get((lane.input, lane.lane)))
    ]


def _ratio(now: float, before: float) -> float:
    return now / before if before else math.nan
