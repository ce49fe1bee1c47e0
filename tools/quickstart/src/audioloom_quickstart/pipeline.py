"""The four stages in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audioloom_quickstart.programs import Programs, read_manifest


@dataclass(frozen=True)
class Outcome:
    """The manifest of each stage: where it lies and what it says."""

    recordings: str
    features: str
    shards: str
    run: str

    def manifest(self, stage: str) -> dict[str, Any]:
        """The manifest of "recordings", "features", "shards" or "run"."""
        return read_manifest(getattr(self, stage))


@dataclass(frozen=True)
class Place:
    """Where the pipeline runs.

    Args:
        root: where everything is written.
        spark: options of the stages that Spark runs.
        gang: options of the launcher.
        trainer: the trainer's program, as the workers find it.
    """

    root: str
    spark: Sequence[str]
    gang: Sequence[str]
    trainer: str


def on_this_machine(programs: Programs, root: str) -> Place:
    """Everything in processes of this machine, and in the environments that it has."""
    return Place(root, (), ("--on", "local"), programs.paths["trainer"])


def on_cluster(programs: Programs, root: str) -> Place:
    """Everything in containers; the trainer's environment is packed and shipped for them."""
    project = ("--project", "services/trainer", "--extra", "cpu")
    archive = programs.run(
        "pack the trainer", "yarn-launcher", "env", "pack", "--root", root, *project
    )
    gang = ("--on", "yarn", "--environment", archive, "--memory", "2 GiB")
    return Place(root, ("--master", "yarn"), gang, "audioloom-trainer")


def run_pipeline(
    programs: Programs,
    audio: str,
    place: Place,
    *,
    pattern: str,
    split: str,
    name: str,
    workers: int,
    training: Sequence[str],
    features: Sequence[str] = (),
) -> Outcome:
    """Scan, featurize, shard and train; each stage is given the manifest of the one before.

    Args:
        programs: the installed stages.
        audio: folder of recordings.
        place: where it all runs.
        pattern: regular expression with the groups label and group.
        split: shares, as the sharder takes them.
        name: of the training run.
        workers: processes of the training gang.
        training: further options of `audioloom-trainer run`.
        features: further options of `audioloom-featurizer run`.
    """
    at = ("--root", place.root)
    recordings = programs.run("scan", "featurizer", "scan", audio, *at, "--pattern", pattern)
    made = programs.run("featurize", "featurizer", "run", recordings, *features, *place.spark)
    shards = programs.run("shard", "sharder", "run", made, "--split", split, *place.spark)
    run = train(programs, place, shards, name=name, workers=workers, options=training)
    return Outcome(recordings, made, shards, run)


def train(
    programs: Programs,
    place: Place,
    shards: str,
    *,
    name: str,
    workers: int,
    options: Sequence[str],
) -> str:
    """Train on the shards with a gang of workers; answer the run's manifest."""
    gang = ("run", *place.gang, "--workers", str(workers), "--root", place.root, "--name", name)
    trainer = (place.trainer, "run", shards, *options)
    return programs.run("train", "yarn-launcher", *gang, "--", *trainer)
