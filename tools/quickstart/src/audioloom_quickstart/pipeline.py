"""The four stages in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
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


def run_pipeline(
    programs: Programs,
    audio: Path,
    root: Path,
    *,
    pattern: str,
    split: str,
    name: str,
    workers: int,
    training: Sequence[str],
) -> Outcome:
    """Scan, featurize, shard and train; each stage is given the manifest of the one before.

    Args:
        programs: the installed stages.
        audio: folder of recordings.
        root: where everything is written.
        pattern: regular expression with the groups label and group.
        split: shares, as the sharder takes them.
        name: of the training run.
        workers: processes of the training gang.
        training: further options of `audioloom-trainer run`.
    """
    at = ("--root", str(root))
    recordings = programs.run("scan", "featurizer", "scan", str(audio), *at, "--pattern", pattern)
    features = programs.run("featurize", "featurizer", "run", recordings)
    shards = programs.run("shard", "sharder", "run", features, "--split", split)
    run = train(programs, root, shards, name=name, workers=workers, options=training)
    return Outcome(recordings, features, shards, run)


def train(
    programs: Programs,
    root: Path,
    shards: str,
    *,
    name: str,
    workers: int,
    options: Sequence[str],
) -> str:
    """Train on the shards with a gang of local workers; answer the run's manifest."""
    gang = ("run", "--on", "local", "--workers", str(workers), "--root", str(root), "--name", name)
    trainer = (programs.paths["trainer"], "run", shards, *options)
    return programs.run("train", "yarn-launcher", *gang, "--", *trainer)
