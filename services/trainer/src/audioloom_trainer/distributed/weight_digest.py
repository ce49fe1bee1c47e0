"""A few numbers that stand for all weights of a model, made where the weights are.

Reading the weights of five million parameters to hash them takes half a second; this takes some
milliseconds, so workers can be compared often. Any one bit that differs changes the numbers; it is
no protection against somebody who wants them equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

_STEP = 1_000_003  # odd and prime: two layers that are exchanged do not look alike


def make_weight_digest(strategy: Any, model: keras.Model) -> Callable[[], list[tuple[int, int]]]:
    """Make the function that answers the numbers of each replica of this process.

    Args:
        strategy: the model's.
        model: built; its weights are digested, not the optimizer's slots or the metrics' sums.
    """
    variables = list(model.weights)

    def digest() -> Any:
        total = tf.zeros((2,), tf.int32)
        for variable in variables:
            total = total * _STEP + _numbers(tf.convert_to_tensor(variable))
        return total

    def everywhere() -> Any:
        return tf.stack(strategy.experimental_local_results(strategy.run(digest)))

    run = tf.function(everywhere)

    def ask() -> list[tuple[int, int]]:
        return [(int(one), int(other)) for one, other in run().numpy()]

    return ask


def _numbers(value: Any) -> Any:
    """Two sums over the bits of a tensor, (2,) int32: plain, and weighted by the place."""
    kind = {1: tf.uint8, 2: tf.uint16}.get(value.dtype.size, tf.int32)
    if value.dtype.is_bool:
        value = tf.cast(value, tf.uint8)
    bits = tf.reshape(tf.cast(tf.bitcast(value, kind), tf.int32), [-1])
    places = 2 * tf.range(tf.size(bits)) + 1
    return tf.stack([tf.reduce_sum(bits), tf.reduce_sum(bits * places)])
