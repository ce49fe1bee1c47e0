"""The quickstart: make recordings, run the four stages on them, show what came out."""

from __future__ import annotations

from pathlib import Path

from audioloom_quickstart.pipeline import Outcome, run_pipeline
from audioloom_quickstart.programs import Programs
from audioloom_quickstart.table import ending

PATTERN = r"(?P<label>[^/]+)/(?P<group>\d+)-.*"
SPLIT = "train=0.7,val=0.1,test=0.2"
SHORT_SPLIT = "train=0.6,val=0.1,test=0.3"  # by SPLIT none of ten sentences is for testing


WORKERS, BATCH, EPOCHS = 2, 32, 40


def quickstart(programs: Programs, folder: Path, *, short: bool) -> str:
    """Run it all below *folder* and answer the text that ends it.

    Sentences are the groups, so accuracy is on sentences that training never heard. The voices and
    the sentences are the same in every class: a good score shows that the pipeline runs.
    """
    return ending(programs, demo(programs, folder, short=short), unseen="sentences")


def demo(programs: Programs, folder: Path, *, short: bool = False) -> Outcome:
    """Make the recordings and train on them, as far as that has not been done."""
    voices, root = folder / "voices", folder / "loom"
    sentences, epochs = (10, 2) if short else (40, EPOCHS)
    if not voices.exists():
        programs.run(
            "make recordings",
            "demo_voices",
            *("-m", "audioloom_demo_voices", str(voices), "--sentences", str(sentences)),
        )
    return run_pipeline(
        programs,
        voices,
        root,
        pattern=PATTERN,
        split=SHORT_SPLIT if short else SPLIT,
        name="prosody",
        workers=WORKERS,
        training=("--epochs", str(epochs), "--batch-size", str(BATCH)),
    )
