"""Scoring in one process: what is kept from one time to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_trainer.input import staging
from audioloom_trainer.runs.committed_run import open_run, read_trained_on
from audioloom_trainer.settings import EvaluateSettings
from audioloom_trainer.shards.shard_set import FileRef, open_shards
from trainer_program import Trained


@pytest.mark.usefixtures("tensorflow")
def test_shards_are_brought_once_and_score_the_same_each_time(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data and index of each shard of both splits, as long as the cache has room."""
    import keras
    from audioloom_trainer.evaluation.scoring import local_scoring
    from audioloom_trainer.runs.rebuild import rebuild

    brought: list[Path] = []
    copy = staging.verified_copy

    def counted(file: FileRef, target: Path, **options: Any) -> None:
        brought.append(target)
        copy(file, target, **options)

    monkeypatch.setattr(staging, "verified_copy", counted)
    run = open_run(str(trained.run.folder), None)
    shard_set = open_shards(read_trained_on(run.opened))
    splits = [shard_set.split(name) for name in sorted(shard_set.splits.keys() - {"train"})]
    settings = EvaluateSettings(run=str(trained.run.folder), cache=str(tmp_path))
    keras.utils.clear_session()  # tests before this one have numbered layers in this process
    model = rebuild(run, shard_set)
    with local_scoring(settings, model, shard_set, splits, again=True) as scoring:
        times = [{each.name: scoring.evaluate(each).scores for each in splits} for _ in range(3)]
    assert [times[0]] * 3 == times
    shards = sum(len(split.shards) for split in splits)
    assert 2 * shards == len(brought)
