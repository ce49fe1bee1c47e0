"""How the splits of shards were made: what a score on one of them is worth depends on it.

A score on recordings of speakers who are in the training split too says little about new speakers.
"""

from __future__ import annotations

from audioloom_manifest import ShardsManifest


def splits_by(manifest: ShardsManifest) -> str:
    """By what the records were divided, in words that follow "the splits were made by"."""
    recipe = manifest.recipe
    if recipe.split_pattern is not None:
        found = f"a pattern of the path, {recipe.split_pattern}"
    elif recipe.split_table_sha256 is not None:
        found = f"a table, SHA-256 {recipe.split_table_sha256[:12]}…"
    elif len(recipe.splits) == 1:
        return "nothing, there is one split"
    else:
        found = _key(manifest)
    if recipe.stratify:
        found += ", stratified by label"
    kept = [each.name for each in manifest.inputs if each.kind == "shards"]
    if kept:
        found += f", those of the shards {kept[-1]} kept"
    return found


def _key(manifest: ShardsManifest) -> str:
    if manifest.recipe.ungrouped == "refuse":
        return "group"
    splits = manifest.stats.splits.values()
    if all(split.groups == split.recordings for split in splits):
        return "recording, no two share a group"
    return "group, and by recording where there was none"
