"""`list`: the runs of this stage under a root, finished or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from audioloom_manifest import (
    FeaturesManifest,
    ManifestError,
    Opened,
    RecordingsManifest,
    list_manifests,
)
from audioloom_stage import Result
from audioloom_storage import Location, locate, stat

from audioloom_featurizer.commands.gc import KINDS
from audioloom_featurizer.settings import ListSettings


def list_runs(settings: ListSettings) -> Result:
    """List recordings and features runs: kind, state, size, name, place."""
    root = locate(settings.root)
    stat(root)  # a root that is not there is a mistake, an empty one is not
    found = list(_found(root))
    lines = [
        f"{each['kind']:<10}  {each['state']:<10}  {each['recordings']:>9}  {each['location']}"
        for each in found
    ]
    return Result(lines, {"runs": found})


def _found(root: Location) -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        for folder, manifest in list_manifests(root, kind):
            yield {"kind": kind, "name": folder.name, "location": str(folder), **_state(manifest)}


def _state(found: Opened[Any] | ManifestError | None) -> dict[str, Any]:
    if found is None:
        return {"state": "unfinished", "recordings": "-", "detail": "no manifest yet"}
    if isinstance(found, ManifestError):
        return {"state": "unreadable", "recordings": "-", "detail": str(found)}
    manifest: RecordingsManifest | FeaturesManifest = found.manifest
    return {
        "state": "committed",
        "recordings": manifest.stats.recordings,
        "detail": manifest.created.isoformat(),
    }
