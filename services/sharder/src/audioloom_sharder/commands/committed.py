"""A committed run: whether its files are all there, and how it is answered."""

from __future__ import annotations

from typing import Any

from audioloom_manifest import Opened, ShardsManifest, check_files
from audioloom_stage import Result

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.formats.codec import TFRECORD


def check_standing(opened: Opened[ShardsManifest]) -> None:
    """Refuse a run whose manifest stands but whose files are gone or of another size.

    Raises:
        DamagedShards: with the first of them.
    """
    problems = list(check_files(opened.folder, opened.files(), content=False))
    if problems:
        raise DamagedShards(
            f"the run is committed, but {len(problems)} of its files are missing or cut",
            found=str(problems[0].error),
            where=opened.location,
            hint=f"Remove the folder {opened.folder} and run again: the same shards come back.",
        )


def numbers(opened: Opened[ShardsManifest]) -> dict[str, Any]:
    """What a program wants to know of a run."""
    manifest = opened.manifest
    return {
        "manifest": opened.location.uri,
        "name": manifest.name,
        "identity": manifest.identity,
        "labels": list(manifest.stats.labels),
        "class_weights": manifest.stats.class_weights,
        "splits": {
            name: split.model_dump(mode="json", exclude={"coefficients"})
            for name, split in manifest.stats.splits.items()
        },
    }


def describe(opened: Opened[ShardsManifest], *, ours: bool) -> Result:
    """The answer of `run`: where the manifest is; whether this try made it."""
    where = str(opened.location)
    readable = opened.manifest.recipe.format == TFRECORD
    train = (f"audioloom-trainer run {opened.folder}",) if readable else ()
    return Result(
        text=where,
        data={**numbers(opened), "already_committed": not ours},
        next=(
            f"audioloom-sharder inspect {opened.folder}",
            f"audioloom-sharder verify {opened.folder}",
            *train,
        ),
    )
