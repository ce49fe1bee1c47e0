"""The quickstart's score beside that of `tf_keras` alone, on the same shards and network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from audioloom_quickstart.pipeline import on_this_machine, train
from audioloom_quickstart.programs import Programs, StepFailedError, read_manifest
from audioloom_quickstart.quickstart import BATCH, EPOCHS, WORKERS, demo
from audioloom_quickstart.table import format_table

SEEDS = (0, 1, 2, 3, 4)
LEAST, MOST = 0.5, 0.97


def compare(programs: Programs, folder: Path) -> str:
    """Train with each seed both ways and answer the scores on unseen sentences.

    There are few (a recording is 0.01), so both splits that nothing was learnt or chosen from are
    taken together, and means over the seeds compared: they may be as far apart as a seed alone
    puts the scores of one side.

    Raises:
        StepFailedError: a mean is not what it must be.
    """
    outcome = demo(programs, folder)
    place, shards = on_this_machine(programs, str(folder / "loom")), outcome.shards
    splits = outcome.manifest("shards")["stats"]["splits"]
    ours, theirs = [], []
    for seed in SEEDS:
        options = ("--epochs", str(EPOCHS), "--batch-size", str(BATCH), "--seed", str(seed))
        run = train(
            programs, place, shards, name=f"prosody-{seed}", workers=WORKERS, options=options
        )
        scores = read_manifest(run)["stats"]["scores"]
        ours.append(together({name: each["accuracy"] for name, each in scores.items()}, splits))
        alone = programs.run("train alone", "bench", "-m", "audioloom_bench.fit_alone",
                             shards, *options)  # fmt: skip
        theirs.append(together(json.loads(alone)["accuracy"], splits))
    table = format_table([_rows(ours, theirs)])
    if faults := broken_expectations(ours, theirs):
        raise StepFailedError("\n".join([table, "", *faults]))
    return table


def together(accuracy: Mapping[str, float], splits: Mapping[str, Any]) -> float:
    """The accuracy over some splits, each counted by its records."""
    records = {name: splits[name]["records"] for name in accuracy}
    right = sum(share * records[name] for name, share in accuracy.items())
    return float(right / sum(records.values()))


def _rows(ours: Sequence[float], theirs: Sequence[float]) -> list[tuple[str, str]]:
    names = [*(f"seed {seed}" for seed in SEEDS), "mean", "spread"]
    each = zip(ours, theirs, strict=True)
    scores = [*each, (mean(ours), mean(theirs)), (_spread(ours), _spread(theirs))]
    head = ("accuracy on unseen sentences", f"audioloom, {WORKERS} workers  tf_keras, alone")
    body = zip(names, scores, strict=True)
    return [head, *((name, f"{one:20.3f}  {other:15.3f}") for name, (one, other) in body)]


def broken_expectations(ours: Sequence[float], theirs: Sequence[float]) -> list[str]:
    """What does not hold of the scores of both, a seed each; empty when everything does."""
    own, other, spread = mean(ours), mean(theirs), max(_spread(ours), _spread(theirs))
    checks = {
        f"expected an accuracy ≥ {LEAST}, found {own:.3f}": own >= LEAST,
        f"expected < {MOST}, found {own:.3f}: look for a leak": own < MOST,
        f"expected means as near as one side's seeds are to each other, {spread:.3f},"
        f" found {own:.3f} and {other:.3f}": abs(own - other) <= spread,
    }
    return [text for text, holds in checks.items() if not holds]


def _spread(scores: Sequence[float]) -> float:
    return max(scores) - min(scores)
