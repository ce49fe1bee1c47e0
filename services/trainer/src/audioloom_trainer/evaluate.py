"""`evaluate`: score a committed run on splits of its own shards, or of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audioloom_manifest import read_manifest
from audioloom_stage import BadData, Result

from audioloom_trainer.finished import FinishedRun, open_run, read_trained_on
from audioloom_trainer.results import evaluation_report, split_scores
from audioloom_trainer.settings import EvaluateSettings, parse_bytes
from audioloom_trainer.shards import Shard, ShardSet, open_shards
from audioloom_trainer.tables import table

__all__ = ["evaluate"]


def evaluate(settings: EvaluateSettings) -> Result:
    """Build the model in this process and score it."""
    run = open_run(settings.run, settings.model)
    own = open_shards(read_trained_on(run.opened))
    opened = read_trained_on(run.opened)
    if settings.shards is not None:
        opened = read_manifest(settings.shards, expect="shards")
    scored = open_shards(opened)
    _check_same_task(run, own, scored)
    names = settings.split or tuple(sorted(scored.splits.keys() - {"train"}))
    splits = [scored.split(name) for name in names]

    from audioloom_trainer.strategy import set_up_tensorflow  # noqa: PLC0415

    recipe = run.opened.manifest.recipe
    set_up_tensorflow(
        threads=settings.threads, deterministic=recipe.deterministic, seed=recipe.seed
    )
    from audioloom_trainer.cache import Cache  # noqa: PLC0415
    from audioloom_trainer.feed import Replicas, needed_shards  # noqa: PLC0415
    from audioloom_trainer.rebuild import rebuild  # noqa: PLC0415
    from audioloom_trainer.scoring import Scoring  # noqa: PLC0415
    from audioloom_trainer.staging import Staging  # noqa: PLC0415

    model = rebuild(run, own)
    cache = None
    if settings.cache is not None:
        folder = Path(settings.cache).expanduser().absolute()
        cache = Cache(folder, parse_bytes(settings.cache_bytes))

    def needed() -> Iterator[Shard]:
        for split in splits:
            yield from needed_shards(split, None, Replicas(), batch=settings.batch_size)

    with Staging(scored, needed(), cache=cache, patience=0.0) as staging:
        scoring = Scoring.alone(model, scored, staging, settings.batch_size)
        evaluated = {split.name: scoring.evaluate(split) for split in splits}
    scores = {
        name: split_scores(scored, name, each.scores, each.confusion, train=own.splits["train"])
        for name, each in evaluated.items()
    }
    confusions = {name: each.confusion for name, each in evaluated.items()}
    report: dict[str, Any] = evaluation_report(scored, scores, confusions)
    return Result(
        text=score_table(scores),
        data={"run": run.opened.location.uri, "shards": opened.location.uri, **report},
    )


def score_table(scores: dict[str, dict[str, float]]) -> str:
    """One line a split, one column a score."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    rows = [
        (split, *(f"{found[name]:.4f}" if name in found else "" for name in names))
        for split, found in scores.items()
    ]
    return table(("split", *names), rows)


def _check_same_task(run: FinishedRun, own: ShardSet, scored: ShardSet) -> None:
    """Shards of another shape or vocabulary would give scores that mean nothing."""
    for what, trained, found in (
        ("features", f"{own.shape}", f"{scored.shape}"),
        ("labels", ", ".join(own.labels)[:200], ", ".join(scored.labels)[:200]),
    ):
        if trained != found:
            raise BadData(
                f"the run {run.opened.manifest.name} was trained on other {what}",
                expected=trained,
                found=found,
                hint="Shard with the same --labels, and features of the same settings.",
            )
