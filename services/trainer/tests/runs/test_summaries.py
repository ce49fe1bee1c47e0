"""Events as TensorFlow itself reads them: nothing is written over, and all is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_trainer.runs.timeline import Interval
from trainer_program import Trained, Trainer

pytestmark = pytest.mark.usefixtures("tensorflow")

Curves = dict[str, list[tuple[int, float]]]


def curves(folder: Path) -> Curves:
    """Each curve of a folder, its files in the order of their names, as TensorBoard reads them."""
    import tensorflow as tf

    found: Curves = {}
    for file in sorted(folder.iterdir()):
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                assert "scalars" == value.metadata.plugin_data.plugin_name
                number = float(tf.make_ndarray(value.tensor))
                found.setdefault(value.tag, []).append(
                    (event.step, pytest.approx(number, rel=1e-6))
                )
    return found


def write(folder: Path, *what: Any) -> None:
    from audioloom_trainer.runs.summaries import write_summaries

    write_summaries(locate(folder), *what)


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    """It is logged, as is progress that cannot be written."""
    (tmp_path / "logs").write_text("a file where a folder should be")
    write(tmp_path, 1, {"loss": 1.0})
    assert ["logs"] == [path.name for path in tmp_path.iterdir()]


def test_a_run_without_events_lists_none(tmp_path: Path) -> None:
    """As of a release before they were written."""
    from audioloom_trainer.runs.summaries import events_of

    assert [] == events_of(locate(tmp_path))


def test_each_write_is_a_new_file(tmp_path: Path) -> None:
    """Also of the same step in the same second, and of two tries; TensorFlow reads them all."""
    first, second = Interval(8, 8, 0.5, 0.25, 0.0), Interval(32, 16, 0.1, 0.0, 0.0)
    write(tmp_path, 16, {"epoch": 1, "loss": 2.0, "val_loss": 3.0}, [first])
    before = {path: path.read_bytes() for path in tmp_path.rglob("events.*")}
    write(tmp_path, 32, {"epoch": 2, "loss": 1.0}, [second])
    write(tmp_path, 32, {"val_loss": 2.5})
    assert 4 == len(list(tmp_path.rglob("events.*")))
    assert before == {path: path.read_bytes() for path in before}
    logs = tmp_path / "logs" / "tensorboard"
    assert {
        "loss": [(16, 2.0), (32, 1.0)],
        "steps_per_second": [(8, 2.0), (32, 10.0)],
        "input_wait": [(8, 0.25), (32, 0.0)],
    } == curves(logs / "train")
    assert {"loss": [(16, 3.0), (32, 2.5)]} == curves(logs / "val")


def test_a_run_has_the_curves_of_its_history(trainer: Trainer, trained: Trained) -> None:
    """Every epoch of train and of val, by the steps that were done; listed in its manifest."""
    history = trainer("inspect", trained.run.folder, "--json").data["history"]
    logs = Path(trained.run.folder.path, "logs", "tensorboard")
    for part, prefix in (("train", ""), ("val", "val_")):
        for name in ("loss", "accuracy"):
            expected = [(6 * entry["epoch"], entry[prefix + name]) for entry in history]
            assert expected == curves(logs / part)[name]
    listed = {Path(trained.run.folder.path, e.path) for e in trained.run.files("events")}
    assert listed == {path for path in logs.rglob("*") if path.is_file()}
