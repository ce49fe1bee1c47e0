"""Rules of a run that was never asked for."""

from __future__ import annotations

from audioloom_manifest.kinds import ShardFeature, ShardsRecipe
from audioloom_sharder.rules import Rules


def rules_of(
    *,
    dtype: str = "float32",
    shape: tuple[int, int] = (2, 3),
    sample_rate: int = 1,
    **recipe: object,
) -> Rules:
    """The rules of a recipe with these fields, which need not be valid."""
    fields: dict[str, object] = {
        "algorithm": 1,
        "seed": 0,
        "lanes": 1,
        "shards": 1,
        "shard_bytes": None,
        "splits": {"train": 1.0},
        "ungrouped": "refuse",
        "labels": None,
        "target": "label",
        "compression": "none",
    }
    made = ShardsRecipe.model_validate(fields).model_copy(update=recipe)
    return Rules(made, ShardFeature(name="mfcc", dtype=dtype, shape=shape), sample_rate)  # type: ignore[arg-type]
