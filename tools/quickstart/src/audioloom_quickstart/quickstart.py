"""The quickstart: make recordings, run the four stages on them, show what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audioloom_mini_cluster.client import Running

from audioloom_quickstart.containers import pack
from audioloom_quickstart.pipeline import (
    Outcome,
    Place,
    on_cluster,
    on_this_machine,
    run_pipeline,
)
from audioloom_quickstart.programs import Programs
from audioloom_quickstart.table import ending, summary

PATTERN = r"(?P<label>[^/]+)/(?P<group>\d+)-.*"
SPLIT = "train=0.7,val=0.1,test=0.2"
SHORT_SPLIT = "train=0.6,val=0.1,test=0.3"  # by SPLIT none of ten sentences is for testing


WORKERS, BATCH, EPOCHS = 2, 32, 40
UNSEEN = "sentences"


@dataclass(frozen=True)
class Wish:
    """What is asked of a run.

    Args:
        short: a small set of recordings, and two epochs.
        containers: the container that the recordings are packed into; None leaves them as files.
        features: further options of `audioloom-featurizer run`.
        kept: what is made stays after the run, so that a person can look at it.
    """

    short: bool = False
    containers: str | None = None
    features: Sequence[str] = ()
    kept: bool = True


def quickstart(programs: Programs, folder: Path, wish: Wish, *, root: str | None = None) -> str:
    """Run it all below *folder* and answer the text that ends it.

    Sentences are the groups, so accuracy is on sentences that training never heard. The voices and
    the sentences are the same in every class: a good score shows that the pipeline runs.
    """
    outcome = demo(programs, folder, wish, root=root)
    return (ending if wish.kept else summary)(programs, outcome, unseen=UNSEEN)


def quickstart_on(cluster: Running, programs: Programs, folder: Path, wish: Wish) -> Outcome:
    """The same on a cluster: the recordings are made in *folder*, all else lies in HDFS."""
    voices = make_recordings(programs, folder, wish)
    audio, root = f"{cluster.hdfs}/voices", f"{cluster.hdfs}/loom"
    programs.run("put into HDFS", "hdfs", "dfs", "-put", "-t", "8", str(voices), audio)
    return _run(programs, audio, on_cluster(programs, root), wish)


def demo(
    programs: Programs, folder: Path, wish: Wish | None = None, *, root: str | None = None
) -> Outcome:
    """Make the recordings and train on them, as far as that has not been done."""
    asked = wish or Wish()
    voices = make_recordings(programs, folder, asked)
    place = on_this_machine(programs, root or str(folder / "loom"))
    return _run(programs, str(voices), place, asked)


def make_recordings(programs: Programs, folder: Path, wish: Wish) -> Path:
    """Make the recordings, unless they are there; where they lie."""
    voices, sentences = folder / "voices", 10 if wish.short else 40
    if not voices.exists():
        programs.run(
            "make recordings",
            "voices",
            *("-m", "audioloom_voices", "demo", str(voices), "--sentences", str(sentences)),
        )
    return voices if wish.containers is None else pack(voices, wish.containers)


def _run(programs: Programs, audio: str, place: Place, wish: Wish) -> Outcome:
    epochs = 2 if wish.short else EPOCHS
    return run_pipeline(
        programs,
        audio,
        place,
        pattern=PATTERN,
        split=SHORT_SPLIT if wish.short else SPLIT,
        name="prosody",
        workers=WORKERS,
        training=("--epochs", str(epochs), "--batch-size", str(BATCH)),
        features=wish.features,
    )
