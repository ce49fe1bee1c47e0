"""How long it takes until so many workers have met, and until all have ended, in one process.

It grows somewhat faster than the gang: each worker reads all members, which TF_CONFIG needs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from audioloom_bench.measure import Lane
from audioloom_bench.training.figures import figures

SIZES = (64, 125, 250, 500, 1000)
MEET, WHOLE = "workers that meet, in memory", "the same to the end, processor"


def lanes(programs: Mapping[str, Path], rounds: int) -> list[Lane]:
    """A row a size; the ratios are to the smallest."""
    python = programs["yarn-launcher"].with_name("python")
    words = [str(python), str(Path(__file__).with_name("many_workers.py")), *map(str, SIZES)]
    found: dict[str, dict[str, list[float]]] = {MEET: {}, WHOLE: {}}
    for _ in range(rounds):
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        for line in ran.stdout.splitlines():
            figure = json.loads(line)
            size = str(figure["size"])
            meet = figure["to_start"] + figure["to_meet"]
            found[MEET].setdefault(size, []).append(meet)
            found[WHOLE].setdefault(size, []).append(figure["processor"])
    return [
        *figures(found[MEET], MEET, "s"),
        *figures(found[WHOLE], WHOLE, "core-s"),
    ]


def shortfall(lanes: Sequence[Lane]) -> list[str]:
    """The curve is there to be looked at."""
    del lanes
    return []
