"""The launcher: what it costs to begin through it, and how large gangs meet.

The launcher and the trainer's TensorFlow are the installed programs that AUDIOLOOM_PROGRAMS names:
skein has no place in the environment of the benchmarks. What a part measures, and what it has to
reach, stands in its module.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from audioloom_bench.measure import Lane

VARIABLE = "AUDIOLOOM_PROGRAMS"
PARTS = {"overhead": "overhead", "gang": "gang", "growth": "growth"}
"""Their names, and the modules."""
MOST_ROUNDS = 5
"""A round of the first part takes a minute."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument(
        "--part", nargs="+", choices=[*PARTS], default=[*PARTS], help="default: all of them"
    )


def bench(rounds: int, *, part: Sequence[str] = tuple(PARTS)) -> list[Lane]:
    """The parts that are asked for."""
    programs = installed()
    lanes: list[Lane] = []
    for name in part:
        print(f"measuring {name}", file=sys.stderr)
        lanes += _module(name).lanes(programs, min(rounds, MOST_ROUNDS))
    return lanes


def shortfall(lanes: Sequence[Lane]) -> str | None:
    """What does not reach what it should."""
    return "\n".join(each for name in PARTS for each in _module(name).shortfall(lanes)) or None


def installed() -> dict[str, Path]:
    """Where the programs are that the nox session installed."""
    text = os.environ.get(VARIABLE)
    if not text:
        sys.exit(f"{VARIABLE} is not set: start this with `uv run noxfile.py -s bench -- launch`")
    return {name: Path(path) for name, path in json.loads(text).items()}


def _module(part: str) -> Any:
    return import_module(f"audioloom_bench.launching.{PARTS[part]}")
