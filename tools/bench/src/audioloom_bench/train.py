"""Training on shards, part by part: feeding, steps, workers, staging, start-up, resume.

Every lane has processes of its own; lanes of a part go in turn, and are compared round by round.
What a part measures, and what it has to reach, stands in its module.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from audioloom_storage import locate

from audioloom_bench.made_shards import made_shards
from audioloom_bench.measure import Lane
from audioloom_bench.training.pipelines import BATCH

PARTS = {
    "feeding": "batch_rate",
    "training": "step_rate",
    "workers": "workers",
    "staging": "staging",
    "startup": "startup",
    "resume": "resume",
}
"""Their names, and the modules."""
RECORDS = 125 * BATCH
MOST_ROUNDS = 3
"""A round of all parts takes about a minute, and the start of their processes a few."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument(
        "--part", nargs="+", choices=[*PARTS], default=[*PARTS], help="default: all of them"
    )


def bench(rounds: int, *, part: Sequence[str] = tuple(PARTS)) -> list[Lane]:
    """The parts that are asked for, on the same shards."""
    lanes: list[Lane] = []
    with tempfile.TemporaryDirectory(prefix="audioloom-bench-") as folder:
        made = made_shards(locate(Path(folder)), RECORDS)
        manifest = str(made.location)
        for name in part:
            print(f"measuring {name}", file=sys.stderr)  # what takes minutes says how far it is
            lanes += _module(name).lanes(manifest, RECORDS // BATCH, min(rounds, MOST_ROUNDS))
    return lanes


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What does not reach what it should."""
    return "\n".join(each for name in PARTS for each in _module(name).shortfall(lanes)) or None


def _module(part: str) -> Any:
    return import_module(f"audioloom_bench.training.{PARTS[part]}")
