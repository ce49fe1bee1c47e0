"""What counts as probabilities, and which losses want some."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("tensorflow")

GOOD, NEGATIVE, TOO_LITTLE = [0.2, 0.8], [-0.2, 1.2], [0.2, 0.2]


def counted(loss: Any, *rows: list[float], dtype: str = "float32", legacy: bool = False) -> float:
    """How many of the outputs are no probabilities for a model with such a loss."""
    import keras
    import tensorflow as tf
    from audioloom_trainer.models.predictions import improper

    model = SimpleNamespace(loss=loss) if legacy else keras.Sequential()
    model.loss = loss
    return float(improper(model, tf.constant(rows, dtype)))


def wants(kind: str, losses: Any) -> list[Any]:
    """A loss in all the ways in which it can be said."""
    function = getattr(losses, kind)
    name = "".join(part.capitalize() for part in kind.split("_"))
    return [kind, function, partial(function, axis=-1), getattr(losses, name)()]


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("sparse_categorical_crossentropy", 2),
        ("categorical_crossentropy", 2),
        ("categorical_focal_crossentropy", 2),
        ("binary_crossentropy", 1),
        ("binary_focal_crossentropy", 1),
    ],
)
def test_outputs_that_a_loss_does_not_want_are_counted(kind: str, bad: int, legacy: bool) -> None:
    """However the loss is said; what a sigmoid says need not add up to 1."""
    library = pytest.importorskip("tf_keras") if legacy else pytest.importorskip("keras")
    for loss in wants(kind, library.losses):
        assert bad == counted(loss, GOOD, NEGATIVE, TOO_LITTLE, legacy=legacy)


@pytest.mark.parametrize("legacy", [False, True])
def test_what_is_no_probability_is_no_matter_to_other_losses(legacy: bool) -> None:
    """Those that take logits, those on numbers, and the user's own."""
    library = pytest.importorskip("tf_keras") if legacy else pytest.importorskip("keras")
    losses = library.losses

    def sparse_categorical_crossentropy(y: Any, said: Any) -> Any:
        return said

    for loss in (
        "mean_squared_error",
        losses.SparseCategoricalCrossentropy(from_logits=True),
        losses.BinaryCrossentropy(from_logits=True),
        partial(losses.sparse_categorical_crossentropy, from_logits=True),
        sparse_categorical_crossentropy,
    ):
        assert 0 == counted(loss, NEGATIVE, TOO_LITTLE, legacy=legacy)


@pytest.mark.parametrize(
    ("dtype", "off", "bad"),
    [("float32", 1e-4, 0), ("float32", 1e-2, 1), ("bfloat16", 1e-2, 0), ("bfloat16", 0.2, 1)],
)
def test_rounding_is_no_error(dtype: str, off: float, bad: int) -> None:
    """Half precision rounds more."""
    loss = "sparse_categorical_crossentropy"
    assert bad == counted(loss, [0.2 + off, 0.8], dtype=dtype)
