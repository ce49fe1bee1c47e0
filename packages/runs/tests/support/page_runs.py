"""Manifests and a sample for pages, with any labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from audioloom_manifest.feature_sample import FeatureSample, Picture
from audioloom_manifest.kinds import FeaturesManifest, ShardsManifest, SplitStats

CASES = Path(__file__).parents[4] / "shared/contracts/conformance/cases"
HOSTILE = [
    "<script>document.documentElement.id = 'ran'</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><b>",
    "\u202eevil",
    "long" * 60,
]
PICTURE = Picture(3, [[0.5, None, -9.0], [2.0, 0.0, float(1)]], (-1.0, 0.0, 1.0))


def features(labels: list[str], *, refusals: dict[str, int] | None = None) -> FeaturesManifest:
    """A features manifest with ten windows of each label."""
    path = CASES / "features-1.1-complete/input/manifest.json"
    manifest = FeaturesManifest.model_validate_json(path.read_bytes())
    counts = dict.fromkeys(labels, 10)
    refused = sum((refusals or {}).values())
    stats = manifest.stats.model_copy(
        update={
            "labels": counts,
            "windows": 10 * max(1, len(labels)),
            "refusals": refusals or {},
            "refused": refused,
            "recordings": refused + 10,
        }
    )
    return manifest.model_copy(update={"stats": stats})


def sample(labels: list[str | None], groups: list[str | None], **more: Any) -> FeatureSample:
    """A sample in which every label has a recording of every group."""
    known: dict[str, Any] = {
        "files": 2,
        "all_files": 9,
        "windows": 7,
        "recordings": {label: Counter(groups) for label in labels},
        "seconds": [1.5, 2.0, 9.0],
        "flags": Counter(silent=1),
        "frames": 14,
        "pictures": dict.fromkeys(labels[:12], PICTURE),
        "refusals": {},
    }
    return FeatureSample(**(known | more))


def shards(labels: list[str], splits: dict[str, dict[str, int]], **stats: Any) -> ShardsManifest:
    """A shards manifest whose splits have so many records of each label."""
    path = CASES / "shards-1.1-complete/input/manifest.json"
    manifest = ShardsManifest.model_validate_json(path.read_bytes())
    whole = manifest.stats.splits["train"].model_dump()
    made = {
        name: SplitStats.model_validate(
            whole | {"labels": counts, "records": max(4, sum(counts.values()))}
        )
        for name, counts in splits.items()
    }
    known = {"labels": tuple(labels), "splits": made, "class_weights": None, **stats}
    return manifest.model_copy(update={"stats": manifest.stats.model_copy(update=known)})
