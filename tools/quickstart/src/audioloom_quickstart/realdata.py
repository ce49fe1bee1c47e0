"""The pipeline on real speech: Debian's telephone prompts in three languages.

One actor speaks each language in one studio, so language is also speaker and room: a high score is
a smoke test of the pipeline on real recordings, and would be leakage if it were sold as more.
"""

from __future__ import annotations

from pathlib import Path

from audioloom_quickstart.pipeline import Outcome, run_pipeline
from audioloom_quickstart.programs import Programs, StepFailedError
from audioloom_quickstart.table import format_table, result_rows, timing_rows

PATTERN = r"(?P<label>en|fr|ru)/(?P<group>.+)\.wav"
RECORDINGS = 1705
LEAST_ACCURACY = 0.90


def realdata(programs: Programs, folder: Path) -> str:
    """Run it all below *folder*, check what must hold, and answer the text that ends it.

    Raises:
        StepFailedError: naming each expectation that does not hold.
    """
    voices, root = folder / "voices", folder / "loom"
    if not voices.exists():
        programs.run(
            "fetch recordings", "debian_voices", "-m", "audioloom_debian_voices", str(voices)
        )
    outcome = run_pipeline(
        programs,
        voices,
        root,
        pattern=PATTERN,
        split="train=0.7,val=0.1,test=0.2",
        name="languages",
        workers=2,
        training=("--epochs", "8"),
    )
    table = format_table([timing_rows(programs.seconds), result_rows(outcome)])
    faults = broken_expectations(outcome)
    if faults:
        raise StepFailedError("\n".join([table, *faults]))
    return table


def broken_expectations(outcome: Outcome) -> list[str]:
    """What does not hold of a run on all 1,705 recordings; empty when everything does."""
    features = outcome.manifest("features")["stats"]
    run = outcome.manifest("run")["stats"]
    recordings = outcome.manifest("recordings")["stats"]["recordings"]
    accuracy = run["scores"]["test"]["accuracy"]
    refusals = features["refusals"]
    accounted = features["extracted"] + features["refused"]
    checks = {
        f"{RECORDINGS} recordings, found {recordings}": recordings == RECORDINGS,
        f"features + ledger = {recordings}, found {accounted}": accounted == recordings,
        f"is.wav alone refused, as empty, found {refusals}": refusals == {"empty": 1},
        f"accuracy ≥ {LEAST_ACCURACY}, found {accuracy:.3f}": accuracy >= LEAST_ACCURACY,
    }
    return [f"expected {text}" for text, holds in checks.items() if not holds]
