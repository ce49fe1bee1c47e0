"""Check the files of a committed run, and build the result that commands print."""

from typing import Any

from audioloom_manifest.file_list import check_files
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened
from audioloom_stage.result import Result

from audioloom_sharder.errors import DamagedShards
from audioloom_sharder.rules import TFRECORD


def check_complete(opened: Opened[ShardsManifest]) -> None:
    """Raise DamagedShards for the first file of a run that is missing or has another size."""
    problems = list(check_files(opened.folder, opened.files(), content=False))
    if problems:
        raise DamagedShards(
            f"the run is committed, but {len(problems)} of its files are missing or cut",
            found=str(problems[0]),
            where=opened.location,
            hint=f"Remove the folder {opened.folder} and run again: the shards will be the same.",
        )


def run_data(opened: Opened[ShardsManifest]) -> dict[str, Any]:
    """Return the facts about a run for JSON output."""
    manifest = opened.manifest
    return {
        "location": str(opened.location),
        "name": manifest.name,
        "identity": manifest.identity,
        "labels": list(manifest.stats.labels),
        "class_weights": manifest.stats.class_weights,
        "splits": {
            name: split.model_dump(mode="json", exclude={"coefficients"})
            for name, split in manifest.stats.splits.items()
        },
    }


def run_result(opened: Opened[ShardsManifest], *, ours: bool) -> Result:
    """Build the result of `run`; *ours* says that this attempt committed the run."""
    where = str(opened.location)
    readable = opened.manifest.recipe.format == TFRECORD
    train = (f"audioloom-trainer run {opened.folder}",) if readable else ()
    return Result(
        text=where,
        data={**run_data(opened), "already_committed": not ours},
        next=(
            f"audioloom-sharder inspect {opened.folder}",
            f"audioloom-sharder verify {opened.folder}",
            *train,
        ),
    )
