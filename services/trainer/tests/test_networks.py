"""The built-in functions: what a revision of each stands for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import audioloom_trainer
import pytest
from audioloom_trainer.early_stopping import early_stopping
from audioloom_trainer.models.source import find_model
from audioloom_trainer.networks import conv1d, conv2d_gru
from manifest_editing import edit_manifest
from trainer_program import SMALL, Trained, Trainer

LAYERS = {
    ("conv1d", 1): "InputLayer Permute Conv1D Conv1D Conv1D GlobalAveragePooling1D"
    " GlobalMaxPooling1D Concatenate Dropout Dense",
    ("conv2d_gru", 1): "InputLayer Reshape Conv2D MaxPooling2D Conv2D MaxPooling2D Reshape GRU GRU"
    " Dense Dense",
}
PARAMETERS = {("conv1d", 1): 46018, ("conv2d_gru", 1): 132706}


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("function", [conv1d, conv2d_gru])
def test_a_revision_stands_for_one_network(function: Callable[..., Any]) -> None:
    """Whoever changes a network so that runs come out otherwise raises its revision here too."""
    name = function.__name__
    key = name, find_model(f"builtin:{name}").revision
    model = function((40, 50), 2)
    assert LAYERS[key] == " ".join(type(layer).__name__ for layer in model.layers)
    assert PARAMETERS[key] == model.count_params()
    assert ("Adam", "sparse_categorical_crossentropy") == (
        type(model.optimizer).__name__,
        model.loss,
    )


def test_the_revision_of_early_stopping_stands_for_its_callbacks() -> None:
    """One of Keras's own, with these settings."""
    assert 1 == find_model("builtin:early_stopping").revision
    (callback,) = early_stopping()
    assert ("val_loss", 3, 0, True) == (
        callback.monitor,
        callback.patience,
        abs(callback.min_delta),
        callback.restore_best_weights,
    )


def test_a_corrected_comment_makes_no_other_run(trained: Trained, tmp_path: Path) -> None:
    """The same command finds that the run is done."""
    copy = tmp_path / "audioloom_trainer"
    shutil.copytree(Path(audioloom_trainer.__file__).parent, copy)
    with (copy / "networks.py").open("a") as file:
        file.write("# A corrected comment.\n")
    words = ["run", str(trained.root / "shards" / "demo"), *SMALL]
    done = subprocess.run(
        [sys.executable, "-m", "audioloom_trainer", *words],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, f"{trained.run.location}\n") == (done.returncode, done.stdout), done.stderr
    assert "already committed" in done.stderr


def test_a_run_of_another_revision_is_built_of_its_own_architecture(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """A release that has another network of that name scores it as the release before did."""
    run = trained.copy(tmp_path).run
    edit_manifest(run, lambda value: value["recipe"]["model"].update(revision=99))
    ran = trainer("evaluate", run.folder, "--json")
    assert 0 == ran.code, ran.err
    for name, found in run.manifest.stats.scores.items():
        assert pytest.approx(found) == ran.data["splits"][name]["scores"]
    given = trainer("evaluate", run.folder, "--model", "builtin:conv1d")
    assert 78 == given.code
    assert "the function that was trained, built in, revision 99" in given.err
