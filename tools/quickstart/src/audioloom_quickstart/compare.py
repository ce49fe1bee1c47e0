"""The quickstart's score beside that of `tf_keras` alone, on the same shards and network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from audioloom_quickstart.pipeline import train
from audioloom_quickstart.programs import Programs, StepFailedError, read_manifest
from audioloom_quickstart.quickstart import BATCH, EPOCHS, WORKERS, demo
from audioloom_quickstart.table import format_table

SEEDS = (0, 1, 2)
LEAST, MOST, APART = 0.5, 0.97, 0.05


def compare(programs: Programs, folder: Path) -> str:
    """Train with each seed both ways and answer the scores on unseen sentences.

    The test split is small (one record is almost 0.02), so means over the seeds are compared.

    Raises:
        StepFailedError: a mean is not what it must be.
    """
    outcome = demo(programs, folder)
    root, shards = folder / "loom", outcome.shards
    ours, theirs = [], []
    for seed in SEEDS:
        options = ("--epochs", str(EPOCHS), "--batch-size", str(BATCH), "--seed", str(seed))
        run = train(
            programs, root, shards, name=f"prosody-{seed}", workers=WORKERS, options=options
        )
        ours.append(read_manifest(run)["stats"]["scores"]["test"]["accuracy"])
        alone = programs.run("train alone", "bench", "-m", "audioloom_bench.fit_alone",
                             shards, *options)  # fmt: skip
        theirs.append(json.loads(alone)["accuracy"]["test"])
    table = format_table([_rows(ours, theirs)])
    if faults := broken_expectations(mean(ours), mean(theirs)):
        raise StepFailedError("\n".join([table, "", *faults]))
    return table


def _rows(ours: Sequence[float], theirs: Sequence[float]) -> list[tuple[str, str]]:
    rows = [("accuracy on unseen sentences", f"audioloom, {WORKERS} workers  tf_keras, alone")]
    pairs = [*zip(SEEDS, ours, theirs, strict=True), ("mean", mean(ours), mean(theirs))]
    rows += [(f"seed {s}" if s != "mean" else "mean", f"{a:20.3f}  {b:15.3f}") for s, a, b in pairs]
    return rows


def broken_expectations(ours: float, theirs: float) -> list[str]:
    """What does not hold of two means; empty when everything does."""
    checks = {
        f"expected an accuracy ≥ {LEAST}, found {ours:.3f}": ours >= LEAST,
        f"expected < {MOST}, found {ours:.3f}: look for a leak": ours < MOST,
        f"expected at most {APART} between both, found {ours:.3f} and {theirs:.3f}": (
            abs(ours - theirs) <= APART
        ),
    }
    return [text for text, holds in checks.items() if not holds]
