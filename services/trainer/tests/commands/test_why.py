"""`why` compares the planned training with the nearest finished one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from audioloom_manifest.kinds import TrainingRunStats
from audioloom_manifest.publication import commit
from audioloom_manifest.reader import read_manifest
from audioloom_runs.attempts import new_attempt
from audioloom_trainer.models.source import find_model
from audioloom_trainer.runs.artifacts import kept_sources, write_files
from audioloom_trainer.settings import RunSettings
from audioloom_trainer.training.spec import make_plan
from shard_maker import make_shards
from trainer_program import SMALL, Trained, Trainer

MODEL = "import layers\n\n\ndef build(shape, classes):\n    return None\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a model file, a module beside it, and a committed run of both."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "layers.py").write_text("a = 1\nb = 2\n")
    shards = make_shards(tmp_path, records={"train": 8}, lanes=1)
    settings = RunSettings(shards=str(shards.folder), model=f"{tmp_path}/model.py:build", seed=3)
    model = find_model(settings.model)
    plan = make_plan(settings, model, None, read_manifest(settings.shards, expect="shards"))
    stats = TrainingRunStats(steps=1, records=8, replicas=1, parameters=1, scores={})
    files = write_files(plan.folder, kept_sources(model))
    commit(plan, new_attempt("trainer", {}), files, stats)
    return tmp_path


def test_missing_shards_are_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66, as for `run`."""
    assert 66 == trainer("why", tmp_path / "nothing").code


def test_the_same_words_need_no_training(trainer: Trainer, trained: Trained) -> None:
    """The run that is there is named, as `run` would answer."""
    ran = trainer("why", trained.root / "shards" / "demo", *SMALL)
    assert [f"already there: {trained.run.location}"] == ran.out.splitlines()[:1]


def test_settings_and_versions_are_told(trainer: Trainer, trained: Trained) -> None:
    """Arguments of the model by the option and their name."""
    words = ("--epochs", "3", "--batch-size", "16", "--model-arg", "filters=8")
    ran = trainer("why", trained.root / "shards" / "demo", *words)
    assert [
        "  --model-arg filters is 8; it was 4",
        "  --epochs is 3; it was 2",
    ] == ran.out.splitlines()[2:]


def test_the_files_of_a_model_are_compared(trainer: Trainer, project: Path) -> None:
    """With the digests of the copies that the run keeps; nothing is imported."""
    (project / "model.py").write_text(MODEL.replace("import layers", "import more"))
    (project / "more.py").write_text("import layers\n")
    words = ("--model", f"{project}/model.py:build", "--seed", "3")
    ran = trainer("why", project / "shards" / "demo", *words)
    assert [
        "  the file of --model has changed",
        "  files that differ: model.py, more.py",
    ] == ran.out.splitlines()[2:]
    assert not {"layers", "more"} & sys.modules.keys()
