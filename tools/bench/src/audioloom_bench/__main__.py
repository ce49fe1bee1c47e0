"""`python -m audioloom_bench NAME [--rounds N] [--json FILE] [--png FILE] [--against CHECKOUT]`.

A benchmark may have options of its own: `NAME --help`.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from audioloom_bench.against import comparison, measured_by
from audioloom_bench.report import as_table, write_json, write_png

BENCHMARKS = ("featurize", "job", "launch", "plan", "scale", "scan", "shard", "storage", "train")

_HELP = ("-h", "--help")
_PROGRAMS = "AUDIOLOOM_PROGRAMS"

# One core for every lane, and large blocks kept by malloc: without it the naive lane moves by
# up to 40 % with the state of the heap, and the ratios would flatter us.
QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "1073741824",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


def main() -> None:
    """Measure, and say it in the forms asked for."""
    parser = argparse.ArgumentParser(prog="audioloom_bench", description=__doc__)
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--rounds", type=int, default=15, help="measured rounds (default 15)")
    parser.add_argument("--json", type=Path, help="write the figures as one JSON object")
    parser.add_argument("--png", type=Path, help="draw them")
    parser.add_argument("--against", type=Path, help="measure this checkout too, and compare")
    words = [each for each in sys.argv[1:] if each not in _HELP]
    common, own_words = parser.parse_known_args(words)
    benchmark = import_module(f"audioloom_bench.{common.benchmark}")
    if hasattr(benchmark, "declare"):
        benchmark.declare(parser)
    asked = parser.parse_args()
    own = vars(asked).keys() - vars(common).keys()
    before = []
    if asked.against:
        words = [asked.benchmark, f"--rounds={asked.rounds}", *own_words]
        before = measured_by(asked.against, words, without=(*QUIET, "VIRTUAL_ENV", _PROGRAMS))
    lanes = benchmark.bench(asked.rounds, **{name: getattr(asked, name) for name in own})
    print(as_table([*lanes, *comparison(before, lanes)]))
    if asked.json:
        write_json(asked.benchmark, lanes, asked.json)
    if asked.png:
        write_png(asked.benchmark, lanes, asked.png)
    shortfall = getattr(benchmark, "shortfall", None)
    if shortfall is not None and (told := shortfall(lanes)):
        sys.exit(f"too slow:\n{told}")


if __name__ == "__main__":
    if not os.environ.keys() >= QUIET.keys():
        os.execve(  # noqa: S606 - the allocator and BLAS read these when they start
            sys.executable,
            [sys.executable, "-m", "audioloom_bench", *sys.argv[1:]],
            {**QUIET, **os.environ},
        )
    main()
