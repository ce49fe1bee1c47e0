from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest
from audioloom_manifest.kinds import CoefficientStats
from audioloom_trainer.errors import BadModel
from audioloom_trainer.models.build import build_model, configuration
from audioloom_trainer.models.source import find_model
from audioloom_trainer.networks import conv1d, conv2d_gru
from audioloom_trainer.shards.shard_set import ShardSet
from trainer_program import ZOO

SHAPE = (6, 20)

pytestmark = pytest.mark.usefixtures("tensorflow")


THREE = ShardSet(SHAPE, "float32", ("a", "b", "c"), {})


def build(name: str, *, replicas: int = 1, labels: str = "abc", **more: object) -> keras.Model:
    source = find_model(f"{ZOO}:{name}")
    return build_model(replace(THREE, labels=tuple(labels)), source, more, replicas=replicas)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere", "a function 'nowhere', found the functions Counts, Own, "),
        ("takes_nothing", "takes_nothing.. got an unexpected keyword argument 'shape'"),
        ("fails", "RuntimeError: out of luck"),
        ("no_model", "a Keras 3 model, found builtins.str"),
        ("not_compiled", "a compiled model with an optimizer, found one without"),
        ("no_loss", "one loss, found no loss"),
        ("several_losses", "one loss, found several"),
        ("unknown_loss", "hinge_of_doom"),
        ("one_hot_loss", "take sparse_categorical_crossentropy"),
        ("loss_without_reduction", "reduction='none'"),
        ("two_outputs", "a model with one output, found list of several"),
        ("too_many_scores", r"\(batch, 3\): one score for each of 3 classes, found \(batch, 7\)"),
        ("other_windows", r"windows of shape \(6, 20\), found one that takes \(5, 5\)"),
        ("transposed", r"found one that takes \(20, 6\).*Permute\(\(2, 1\)\) transposes"),
        ("built_transposed", r"found one that takes \(20, 6\).*Permute"),
        ("metric_of_three", r"one number each, found 'per_class' of shape \(3,\)"),
        ("metric_called_epoch", "metrics with other names than epoch, found 'epoch'"),
        ("own_step", r"OwnStep overrides train_step\(\)"),
        ("own_test", r"OwnTest overrides test_step\(\)"),
        ("own_loss", r"OwnLoss overrides compute_loss\(\)"),
        ("own_metrics", r"OwnMetrics overrides compute_metrics\(\)"),
    ],
)
def test_what_cannot_be_trained_is_refused(name: str, text: str) -> None:
    """By the file and the function, before a step is made."""
    with pytest.raises(BadModel, match=text) as caught:
        build(name)
    assert caught.value.where.startswith(str(ZOO))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("float8", "_scale', a scale of float8"),
        ("counts_batches", "'counts.*/seen' of type int32"),
    ],
)
def test_what_several_replicas_would_not_train_alike_is_refused(name: str, text: str) -> None:
    """One replica may."""
    assert build(name).built
    with pytest.raises(BadModel, match=f"{text}.* with 2 replicas"):
        build(name, replicas=2)


def test_an_argument_that_the_function_does_not_take_is_told() -> None:
    """With the call that was made."""
    with pytest.raises(BadModel, match=r"small\(shape=\(6, 20\), classes=3, depth=2\)"):
        build("small", depth=2)


@pytest.mark.parametrize(
    ("text", "found"),
    [("def build(:", "SyntaxError"), ("import nothing_like_it", "has to be installed")],
)
def test_a_file_that_cannot_be_imported_is_told(tmp_path: Path, text: str, found: str) -> None:
    """By its path."""
    (tmp_path / "broken.py").write_text(f"{text}\n")
    source = find_model(f"{tmp_path}/broken.py:build")
    with pytest.raises(BadModel, match=found) as caught:
        build_model(THREE, source, {})
    assert f"{tmp_path / 'broken.py'}:1" == caught.value.where


def test_an_error_in_a_module_beside_the_file_is_told_by_its_line(tmp_path: Path) -> None:
    """That is where the fault is."""
    (tmp_path / "model.py").write_text("import beside_of_mine\ndef build(**_):\n    pass\n")
    (tmp_path / "beside_of_mine.py").write_text("x = 1\nraise RuntimeError('out of luck')\n")
    with pytest.raises(BadModel, match="out of luck") as caught:
        build_model(THREE, find_model(f"{tmp_path}/model.py:build"), {})
    assert f"{tmp_path / 'beside_of_mine.py'}:2" == caught.value.where


@pytest.mark.parametrize("name", ["fails", "fails_when_called"])
def test_an_error_in_the_users_code_is_told_by_its_line(name: str) -> None:
    """Whether the function raised it, or a layer when it was first called."""
    lines = ZOO.read_text().splitlines()
    with pytest.raises(BadModel, match=r"RuntimeError: .*out of luck") as caught:
        build(name)
    file, _, line = caught.value.where.rpartition(":")
    assert str(ZOO) == file
    assert 'raise RuntimeError("out of luck")' == lines[int(line) - 1].strip()


def test_a_model_comes_with_all_its_variables() -> None:
    """Those of the optimizer and of the metrics too, and the metrics at zero."""
    model = build("small", units=5)
    assert model.optimizer.built
    names = {variable.path for metric in model.metrics for variable in metric.variables}
    assert any("accuracy" in name for name in names)
    assert [0.0] * len(model.metrics) == [
        float(metric.variables[0].numpy()) for metric in model.metrics if metric.variables
    ] + [0.0] * sum(not metric.variables for metric in model.metrics)


@pytest.mark.parametrize("name", ["own_class", "any_windows", "with_channel"])
def test_what_takes_the_windows_need_not_say_so_in_so_many_words(name: str) -> None:
    """A class says nothing before it is called, an axis may be of any length or be added."""
    assert build(name).built


def test_two_classes_may_have_one_score() -> None:
    """A number has one output too."""
    assert (None, 1) == build("binary", labels="ab").output_shape
    assert (None, 1) == build("small", labels="").output_shape


def test_the_configuration_is_what_keras_writes() -> None:
    """A model of a class that it cannot write has none, and can be trained all the same."""
    assert "Functional" == configuration(build("small"))["class_name"]
    assert {} == configuration(build("own_class"))


def test_what_is_to_be_normalised_has_to_be_known() -> None:
    """Shards of an earlier draft say nothing of their coefficients."""
    source = find_model("builtin:conv1d")
    with pytest.raises(BadModel, match="shard the features again"):
        build_model(THREE, source, {"normalise": True})


def test_a_function_gets_the_moments_that_it_asks_for() -> None:
    """Then normalisation is in the model: it says of windows what it would of normalised ones."""
    stats = CoefficientStats(mean=tuple(range(6)), variance=(1, 4, 9, 16, 25, 36))
    source = find_model("builtin:conv1d")
    arguments = {"normalise": True, "filters": 4}
    inside = build_model(replace(THREE, coefficients=stats), source, arguments)
    plain = conv1d(SHAPE, 3, filters=4)
    plain.set_weights(inside.get_weights())
    windows = np.random.default_rng(0).normal(2, 5, size=(4, *SHAPE)).astype(np.float32)
    column = np.arange(6, dtype=np.float32)[:, None]
    expected, found = plain((windows - column) / (column + 1)), inside(windows)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=1e-6)
    assert list(range(6)) == configuration(inside)["config"]["layers"][1]["config"]["mean"]


@pytest.mark.parametrize("classes", [8, None])
def test_the_heavy_network_fits_real_windows(classes: int | None) -> None:
    """40 coefficients, 313 frames, as the features have them by default."""
    model = conv2d_gru((40, 313), classes)
    assert (None, classes or 1) == model.output_shape
    assert model.compiled
