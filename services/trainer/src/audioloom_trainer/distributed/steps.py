"""The training loop on TensorFlow's public API: blocks of steps inside one function.

`Model.fit` of Keras 3 does not work with several workers. Here a block of k steps is one
`tf.function` that loops over `strategy.run` and uses the model's own loss, metrics and optimizer.
Each replica's share is weighted by its number of records and the optimizer gets the sum of the
gradients, so any number of replicas computes the result of a single one. Every worker takes part
in every block. One sum over all workers at the end of a block carries losses, counts and signals.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from audioloom_trainer.distributed.consensus import sum_in_graph
from audioloom_trainer.input.batches import Replicas
from audioloom_trainer.input.dataset import BatchStream, dequeue
from audioloom_trainer.models.batch_norm import counted_rows
from audioloom_trainer.models.keras_compat import (
    compute_loss,
    is_legacy,
    step_seeds,
    update_metrics,
)
from audioloom_trainer.models.predictions import improper, record_predictions
from audioloom_trainer.models.state import other_state, seed_state

# Far apart and prime, so that the random streams of two replicas do not overlap.
_SEED_DISTANCE = 1_000_003
_QUEUE, _NUMBER = tf.TensorSpec((), tf.resource), tf.TensorSpec((), tf.int32)


class Outcome(NamedTuple):
    """The result of a block of steps, equal on every worker."""

    losses: np.ndarray
    """Loss of each global batch, as the model defines it."""
    counts: np.ndarray
    """Records of each global batch that took part."""
    improper: np.ndarray
    """Records whose outputs are no probabilities though the loss takes them."""
    signals: np.ndarray
    """The workers' signals, added up."""


Block = Callable[[BatchStream, int, list[float]], Outcome]


def make_train_block(
    strategy: Any,
    model: keras.Model,
    replicas: Replicas,
    *,
    idle: bool,
    class_weights: Sequence[float] | None = None,
) -> Block:
    """Make the function that trains for k steps a model that was built under the strategy.

    Batches may leave replicas *idle*, without a record. Class weights count as those of Keras's
    `fit`, and in weighted metrics too.

    Returns:
        (stream, k, signals of this worker) → `Outcome`; traced once. Call it outside the
        strategy's scope.
    """
    variables = model.trainable_variables
    others = other_state(model) if replicas.total > 1 else []
    reseed, inside = step_seeds(model), is_legacy(model)

    def part(*batch: Any) -> Any:
        reseed()
        share = _share(batch, replicas, class_weights)
        with tf.GradientTape() as tape:
            with counted_rows(share.count) if idle else nullcontext():
                predictions = model(share.x, training=True)
            loss = _weighted_loss(model, share, predictions, replicas, training=True)
            wanted = loss if inside else model.optimizer.scale_loss(loss)
        gradients = tape.gradient(wanted, variables)
        if inside:  # an optimizer of tf_keras sums, clips and applies the replicas' gradients
            model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
            gradients = []
        else:
            gradients = _summed(gradients, replicas)
        share.update_metrics(model, predictions)
        _average(others)
        return share.stats(model, loss, predictions), gradients

    def step(*batch: Any) -> Any:
        stats, gradients = strategy.run(part, args=batch)
        # Outside `strategy.run`, Keras clips, accumulates and skips as for one replica and changes
        # the variables of all. Inside, it would clip each replica's part, and accumulating or
        # skipping would need a collective inside a condition, which TensorFlow does not support.
        if not inside:
            sums = [strategy.experimental_local_results(gradient)[0] for gradient in gradients]
            model.optimizer.apply(sums, variables)
        return tf.add_n(strategy.experimental_local_results(stats))

    as_is = tf.autograph.experimental.do_not_convert(step)  # AutoGraph would take 0.5 s

    def block(signature: Any, queue: Any, batch: Any, k: Any, signals: Any) -> Any:
        results = tf.TensorArray(tf.float32, size=k, element_shape=(3,))
        for i in tf.range(k):
            following = dequeue(queue, signature)
            results = results.write(i, as_is(*batch))
            batch = following
        flat = tf.concat([tf.reshape(results.stack(), [-1]), signals], axis=0)
        return sum_in_graph(strategy, flat, replicas), batch

    traced: list[Any] = []

    def run(batches: BatchStream, k: int, signals: list[float]) -> Outcome:
        if not traced:  # for any batch size: a short batch would trace it again
            given = (_QUEUE, batches.signature, _NUMBER, tf.TensorSpec((None,), tf.float32))
            traced.append(tf.function(partial(block, batches.signature), input_signature=given))
        if batches.batch is None:
            batches.batch = dequeue(batches.queue, batches.signature)
        flat, batches.batch = traced[0](
            batches.queue, batches.batch, tf.constant(k), tf.constant(signals, tf.float32)
        )
        return _outcome(flat.numpy(), k)

    return run


def make_evaluation_block(
    strategy: Any, model: keras.Model, replicas: Replicas, classes: int | None
) -> Callable[[Any, int], tuple[Outcome, np.ndarray]]:
    """Make the function that evaluates for k steps; metrics accumulate in the model.

    Returns:
        (stream, k) → `Outcome` and the predictions for each record of this process's replicas,
        ordered by step, then by replica: float32 (records, 4), columns as in
        `scores.PREDICTION`; empty if the target is a number.
    """

    def step(*batch: Any) -> Any:
        share = _share(batch, replicas)
        predictions = model(share.x, training=False)
        loss = _weighted_loss(model, share, predictions, replicas, training=False)
        share.update_metrics(model, predictions)
        counted = predictions[: share.count]
        true = share.y[: share.count]
        known = record_predictions(model, true, counted, classes) if classes else tf.zeros((0, 4))
        return share.stats(model, loss, predictions), known

    as_is = tf.autograph.experimental.do_not_convert(step)

    def block(signature: Any, queue: Any, k: Any) -> Any:
        results = tf.TensorArray(tf.float32, size=k, element_shape=(3,))
        answers = tf.TensorArray(tf.float32, size=k, element_shape=(None, 4), infer_shape=False)
        for i in tf.range(k):
            stats, part = strategy.run(as_is, args=dequeue(queue, signature))
            results = results.write(i, tf.add_n(strategy.experimental_local_results(stats)))
            answers = answers.write(i, tf.concat(strategy.experimental_local_results(part), 0))
        flat = tf.reshape(results.stack(), [-1])
        return sum_in_graph(strategy, flat, replicas), answers.concat()

    traced: list[Any] = []

    def evaluate(batches: BatchStream, k: int) -> tuple[Outcome, np.ndarray]:
        if not traced:
            with_signature = partial(block, batches.signature)
            traced.append(tf.function(with_signature, input_signature=(_QUEUE, _NUMBER)))
        total, answers = traced[0](batches.queue, tf.constant(k))
        return _outcome(total.numpy(), k), answers.numpy()

    return evaluate


def spread_seeds(strategy: Any, model: keras.Model, replicas: Replicas) -> None:
    """Give each replica its own random numbers; replica 0 gets those of a single replica."""
    states = seed_state(model)
    if replicas.total == 1 or not states:
        return

    def shift() -> None:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        for state in states:
            distance = tf.cast(number, state.dtype) * tf.constant(_SEED_DISTANCE, state.dtype)
            state.assign(state.value + tf.stack([distance, tf.zeros((), state.dtype)]))

    tf.function(lambda: strategy.run(shift))()


class _Share(NamedTuple):
    """The rows of one replica in a step, cut from the tensors of `Batch`."""

    x: Any
    y: Any
    count: Any
    total: Any
    weights: Any
    """What each record counts in the loss; None where all count the same."""

    def update_metrics(self, model: keras.Model, predictions: Any) -> None:
        """Update the model's metrics with the records that count."""
        n = self.count
        weights = None if self.weights is None else self.weights[:n]
        update_metrics(model, self.x[:n], self.y[:n], predictions[:n], weights)

    def stats(self, model: keras.Model, loss: Any, predictions: Any) -> Any:
        """Return this replica's part of the loss, its number of records and of improper ones."""
        bad = improper(model, predictions[: self.count])
        return tf.stack([tf.cast(loss, tf.float32), tf.cast(self.count, tf.float32), bad])


def _share(
    batch: tuple[Any, ...], replicas: Replicas, class_weights: Sequence[float] | None = None
) -> _Share:
    """Return this replica's features and targets, its count of records and the batch's."""
    x, y, bounds, counts, total = batch
    slot = 0
    if replicas.count > 1:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        slot = tf.cast(number, tf.int32) - replicas.first
        x, y = x[bounds[slot] : bounds[slot + 1]], y[bounds[slot] : bounds[slot + 1]]
    weights = None
    if class_weights is not None:
        weights = tf.gather(tf.constant(class_weights, tf.float32), y)
    return _Share(tf.cast(x, tf.float32), y, counts[slot], total, weights)


def _weighted_loss(
    model: keras.Model, share: _Share, predictions: Any, replicas: Replicas, *, training: bool
) -> Any:
    """Return this replica's part of the global batch's loss; the parts of all replicas add up.

    Keras divides the mean loss and each layer's added loss by the number of replicas. The layers'
    losses stay so; the mean is weighted by this replica's share of the records instead.
    """
    loss = compute_loss(model, share.x, share.y, predictions, share.weights, training=training)
    added = tf.add_n(model.losses) / replicas.total if model.losses else None
    if added is not None:
        loss -= added
    if getattr(model.loss, "reduction", "") == "sum":
        loss *= tf.cast(share.count > 0, loss.dtype)
    else:
        counted, total = tf.cast(share.count, loss.dtype), tf.cast(share.total, loss.dtype)
        loss *= counted * replicas.total / total
    return loss if added is None else loss + added


def _summed(gradients: list[Any], replicas: Replicas) -> list[Any]:
    """Sum the gradients over all replicas; None for a variable without a gradient."""
    if replicas.total == 1:
        return gradients
    parts = [each for each in gradients if each is not None]
    context = tf.distribute.get_replica_context()
    sums = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, parts))
    return [None if each is None else next(sums) for each in gradients]


def _average(variables: Sequence[Any]) -> None:
    """Set variables to their means over the replicas; a value equal on all stays exact.

    TensorFlow packs the tensors of a list into one collective, so there are two for each dtype.
    """
    context = tf.distribute.get_replica_context()
    first = tf.equal(context.replica_id_in_sync_group, 0)
    for dtype in dict.fromkeys(tf.as_dtype(variable.dtype) for variable in variables):
        same = [each for each in variables if tf.as_dtype(each.dtype) == dtype]
        values = [tf.convert_to_tensor(each.value) for each in same]
        mine = tf.cast(first, dtype)
        bases = context.all_reduce(tf.distribute.ReduceOp.SUM, [each * mine for each in values])
        offsets = [value - base for value, base in zip(values, bases, strict=True)]
        means = context.all_reduce(tf.distribute.ReduceOp.MEAN, offsets)
        for variable, base, mean in zip(same, bases, means, strict=True):
            variable.assign(base + mean)


def _outcome(flat: np.ndarray, k: int) -> Outcome:
    results = flat[: 3 * k].reshape(k, 3)
    return Outcome(results[:, 0], results[:, 1], results[:, 2], flat[3 * k :])
