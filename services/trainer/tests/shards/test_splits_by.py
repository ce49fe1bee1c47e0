from __future__ import annotations

import json
from typing import Any

import pytest
from audioloom_manifest.envelope import InputRef
from audioloom_manifest.kinds import ShardsManifest
from audioloom_trainer.shards.shard_set import splits_by
from shard_maker import make_shards

WISH = {"train": 0.8, "val": 0.2}
EARLIER = InputRef(
    kind="shards",
    name="march",
    location="shards/march",
    identity="sha256:" + "1" * 64,
    sha256="1" * 64,
)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> ShardsManifest:
    root = tmp_path_factory.mktemp("shards")
    return make_shards(root, records={"train": 12, "val": 4}, lanes=2).manifest


@pytest.mark.parametrize(
    ("recipe", "groups", "expected"),
    [
        ({"ungrouped": "refuse"}, 2, "group"),
        ({"ungrouped": "refuse", "stratify": True}, 2, "group, stratified by label"),
        ({"ungrouped": "by-recording"}, 4, "recording, no two share a group"),
        ({"ungrouped": "by-recording"}, 3, "group, and by recording where there was none"),
        ({"splits": {"train": 1.0}}, 4, "nothing, there is one split"),
        ({"splits": {}, "split_pattern": "(?P<split>.)"}, 4, "a pattern of the path, (?P<split>.)"),
        ({"splits": {}, "split_table_sha256": "ab" * 32}, 4, "a table, SHA-256 abababababab…"),
    ],
)
def test_what_decided_is_said(
    manifest: ShardsManifest, recipe: dict[str, Any], groups: int, expected: str
) -> None:
    """From the recipe; whether recordings stood alone, from the counts."""
    value = manifest.to_json()
    value["recipe"] |= {"splits": WISH, **recipe}
    for split in value["stats"]["splits"].values():
        split |= {"recordings": 4, "groups": groups}
    assert expected == splits_by(ShardsManifest.model_validate_json(json.dumps(value)))


def test_splits_that_were_kept_are_said(manifest: ShardsManifest) -> None:
    """Whatever decided of the groups that came later."""
    recipe = manifest.recipe.model_copy(update={"ungrouped": "refuse"})
    kept = manifest.model_copy(update={"recipe": recipe, "inputs": (*manifest.inputs, EARLIER)})
    assert "group, those of the shards march kept" == splits_by(kept)
