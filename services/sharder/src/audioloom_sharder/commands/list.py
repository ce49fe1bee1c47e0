"""`list`: list the shards runs under a root, committed or not."""

from typing import Any

from audioloom_manifest.reader import Opened
from audioloom_runs import run_list
from audioloom_runs.settings import ListSettings
from audioloom_stage.result import Result


def list_runs(settings: ListSettings) -> Result:
    """List shards runs with their splits, shards and inputs."""
    columns = ("records", "shards", "inputs")
    return run_list.list_runs(settings, ("shards",), columns=columns, committed=_committed)


def _committed(opened: Opened[Any]) -> dict[str, Any]:
    manifest = opened.manifest
    splits = manifest.stats.splits
    return {
        "identity": manifest.identity,
        "records": {name: split.records for name, split in splits.items()},
        "shards": sum(split.shards for split in splits.values()),
        "inputs": [reference.name for reference in manifest.inputs],
    }
