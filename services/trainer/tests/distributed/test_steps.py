"""The loop against Keras's own: the same batches give the same weights, losses and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from audioloom_trainer.input.batches import Batch, Replicas
from audioloom_trainer.models.build import build_model
from audioloom_trainer.models.source import find_model
from audioloom_trainer.shards.shard_set import ShardSet
from trainer_workers import NETWORK

SHAPE, CLASSES = (6, 20), 3
SET = ShardSet(SHAPE, "float32", ("a", "b", "c"), {})
# Four batches of an epoch, the last one short.
SIZES = (8, 8, 8, 3)
CPU = Replicas()

pytestmark = pytest.mark.usefixtures("tensorflow")


def batches() -> Iterator[Batch]:
    rng = np.random.Generator(np.random.PCG64(1))
    for size in SIZES:
        x = rng.normal(size=(size, *SHAPE)).astype(np.float32)
        y = rng.integers(0, CLASSES, size).astype(np.int32)
        bounds, counts = np.array([0, size], np.int32), np.array([size], np.int32)
        yield Batch(x, y, bounds, counts, np.float32(size))


def tiny(**arguments: Any) -> Any:
    """The same weights each time."""
    import keras

    keras.utils.set_random_seed(3)
    return build_model(SET, find_model(NETWORK), arguments)


def plain() -> Any:
    return tiny(batchnorm=True, dropout=0.2)


def summed() -> Any:
    """A loss that is a sum over the records, with a limit for the gradient."""
    import keras

    model = tiny(clipnorm=0.5)
    loss = keras.losses.SparseCategoricalCrossentropy(reduction="sum")
    model.compile(optimizer=model.optimizer, loss=loss, metrics=["accuracy"])
    return model


def regularised() -> Any:
    """Losses that layers add."""
    return tiny(l2=0.1)


def weighted() -> Any:
    """A metric that is weighted as the loss is, and one that is not."""
    model = tiny(l2=0.1)
    model.compile(
        optimizer=model.optimizer,
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["sparse_categorical_accuracy"],
    )
    return model


def train(
    model: Any, *blocks: int, class_weights: tuple[float, ...] | None = None
) -> tuple[list[float], list[float]]:
    """An epoch in blocks of so many steps: losses and counts of its batches."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_train_block
    from audioloom_trainer.input.dataset import BatchStream

    strategy = tf.distribute.get_strategy()
    run = make_train_block(strategy, model, CPU, idle=False, class_weights=class_weights)
    read = BatchStream(batches(), len(SIZES), SET)
    outcomes = [run(read, k, [1.0, k]) for k in blocks]
    assert [[1.0, k] for k in blocks] == [list(each.signals) for each in outcomes]
    losses, counts = (np.concatenate([each[i] for each in outcomes]).tolist() for i in (0, 1))
    return losses, counts


def evaluate(model: Any) -> tuple[float, np.ndarray]:
    """The mean loss of the records, and what was said of each."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_evaluation_block
    from audioloom_trainer.input.dataset import BatchStream

    run = make_evaluation_block(tf.distribute.get_strategy(), model, CPU, CLASSES)
    read = BatchStream(batches(), len(SIZES), SET)
    outcome, answers = run(read, len(SIZES))
    return float(np.dot(outcome.losses, SIZES) / sum(SIZES)), answers


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """All features and all targets."""
    found = list(batches())
    features = np.concatenate([each.features for each in found])
    return features, np.concatenate([each.targets for each in found])


def gap(one: Any, other: Any) -> float:
    return max(
        float(np.abs(a - b).max())
        for a, b in zip(one.get_weights(), other.get_weights(), strict=True)
    )


@pytest.mark.parametrize("make", [plain, regularised, pytest.param(summed, marks=pytest.mark.slow)])
def test_an_epoch_is_what_keras_does(make: Callable[[], Any]) -> None:
    """Weights, metrics and dropout masks, with what users put into a model."""
    theirs, ours = make(), make()
    fitted = theirs.fit(*arrays(), batch_size=SIZES[0], shuffle=False, verbose=0).history
    losses, counts = train(ours, 1, 3)
    assert list(SIZES) == counts
    assert gap(theirs, ours) <= 1e-6
    metrics = ours.get_metrics_result()
    assert fitted["accuracy"][0] == pytest.approx(float(metrics["accuracy"]), abs=1e-6)
    if make is not summed:  # of a sum, Keras averages the batches' and not the records'
        mean = np.dot(losses, SIZES) / sum(SIZES)
        assert fitted["loss"][0] == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize(
    "make", [weighted, *(pytest.param(each, marks=pytest.mark.slow) for each in (plain, summed))]
)
def test_class_weights_are_those_of_keras(make: Callable[[], Any]) -> None:
    """`fit(class_weight=…)` on one replica: weights of the model, loss, both kinds of metrics."""
    given = (0.25, 1.0, 3.5)
    theirs, ours, without = make(), make(), make()
    fitted = theirs.fit(
        *arrays(),
        batch_size=SIZES[0],
        shuffle=False,
        verbose=0,
        class_weight=dict(enumerate(given)),
    ).history
    losses, _ = train(ours, 1, 3, class_weights=given)
    train(without, 4)
    assert gap(theirs, ours) <= 1e-6
    assert gap(without, ours) > 1e-3  # they do count
    metrics = ours.get_metrics_result()
    for name in set(fitted) - {"loss"}:
        assert fitted[name][0] == pytest.approx(float(metrics[name]), abs=1e-6)
    if make in (plain, weighted):
        assert fitted["loss"][0] == pytest.approx(np.dot(losses, SIZES) / sum(SIZES), abs=1e-5)


def test_blocks_may_be_of_any_length() -> None:
    """Steps are steps: in one block, one by one, or anything between, to the bit."""
    models = [tiny(dropout=0.2) for _ in range(3)]
    found = [train(m, *b) for m, b in zip(models, [(4,), (1, 1, 1, 1), (3, 1)], strict=True)]
    assert found[0] == found[1] == found[2]
    assert 0.0 == gap(models[0], models[1]) == gap(models[0], models[2])


def test_scores_are_what_keras_says() -> None:
    """Loss, metrics and answers that agree, and nothing is trained by it."""
    model = tiny(batchnorm=True, dropout=0.2)
    train(model, 4)
    before = model.get_weights()
    model.reset_metrics()
    loss, answers = evaluate(model)
    accuracy = float(model.get_metrics_result()["accuracy"])
    model.reset_metrics()
    x, y = arrays()
    expected = model.evaluate(x, y, batch_size=64, verbose=0, return_dict=True)
    assert expected["loss"] == pytest.approx(loss, abs=1e-5)
    assert expected["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    assert y.tolist() == answers[:, 0].tolist()
    assert accuracy == pytest.approx((y == answers[:, 1]).mean(), abs=1e-6)
    assert loss == pytest.approx(answers[:, 2].mean(), abs=1e-5)
    said = model.predict(x, batch_size=64, verbose=0)
    assert said.argmax(axis=1).tolist() == answers[:, 1].tolist()
    assert said.max(axis=1) == pytest.approx(answers[:, 3], abs=1e-5)
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_answers_are_the_same_however_two_classes_are_said(outputs: int, logits: bool) -> None:
    """One output or two, probabilities or logits: loss and confidence are what the loss means."""
    import keras
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_evaluation_block
    from audioloom_trainer.input.dataset import BatchStream

    def two_classes() -> Iterator[Batch]:
        yield from (each._replace(targets=each.targets % 2) for each in batches())

    keras.utils.set_random_seed(3)
    activation = None if logits else {1: "sigmoid", 2: "softmax"}[outputs]
    layers = [keras.layers.Flatten(), keras.layers.Dense(outputs, activation)]
    model = keras.Sequential([keras.layers.Input(SHAPE), *layers])
    losses = {1: keras.losses.BinaryCrossentropy, 2: keras.losses.SparseCategoricalCrossentropy}
    model.compile("sgd", losses[outputs](from_logits=logits))
    run = make_evaluation_block(tf.distribute.get_strategy(), model, CPU, 2)
    outcome, answers = run(BatchStream(two_classes(), len(SIZES), SET), len(SIZES))
    assert np.dot(outcome.losses, SIZES) / sum(SIZES) == pytest.approx(
        answers[:, 2].mean(), abs=1e-5
    )
    wrong = answers[:, 0] != answers[:, 1]
    chance_of_true = np.where(wrong, 1 - answers[:, 3], answers[:, 3])
    assert np.exp(-answers[:, 2]) == pytest.approx(chance_of_true, abs=1e-5)
    assert (answers[:, 3] >= 0.5).all()


def test_outputs_that_are_no_probabilities_have_no_confidence() -> None:
    """Scores below 0 where no loss says that they are logits."""
    import keras

    model = tiny()
    model.layers[-1].activation = keras.activations.linear
    model.compile("sgd", lambda y, said: keras.ops.mean(keras.ops.square(said), axis=-1))
    _, answers = evaluate(model)
    assert np.isnan(answers[:, 2:]).any()
    assert set(answers[:, 1].tolist()) <= set(range(CLASSES))


def test_an_error_of_the_reader_ends_the_block() -> None:
    """It is not taken for the end of the epoch."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_train_block
    from audioloom_trainer.input.dataset import BatchStream

    def broken() -> Iterator[Batch]:
        yield next(batches())
        raise OSError("the disk is gone")

    run = make_train_block(tf.distribute.get_strategy(), tiny(), CPU, idle=False)
    read = BatchStream(broken(), 4, SET)
    with pytest.raises(tf.errors.OutOfRangeError):
        run(read, 4, [])


def test_a_reader_that_ends_early_ends_the_block() -> None:
    """Steps that are missing are an error, not the end."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_train_block
    from audioloom_trainer.input.dataset import BatchStream

    run = make_train_block(tf.distribute.get_strategy(), tiny(), CPU, idle=False)
    read = BatchStream(batches(), len(SIZES) + 1, SET)
    with pytest.raises(tf.errors.OpError):
        run(read, len(SIZES) + 1, [])


def test_a_short_batch_in_hand_is_compiled_for_already() -> None:
    """A block that begins with the last batch is the same function as the others."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_train_block
    from audioloom_trainer.input.dataset import BatchStream

    model, seen = tiny(), []
    call = model.call

    def seeing(x: Any, **arguments: Any) -> Any:
        seen.append(x.shape)
        return call(x, **arguments)

    model.call = seeing
    run = make_train_block(tf.distribute.get_strategy(), model, CPU, idle=False)
    read = BatchStream(batches(), len(SIZES), SET)
    counts = [run(read, k, []).counts.tolist() for k in (1, 2, 1)]
    assert [[8.0], [8.0, 8.0], [3.0]] == counts
    assert [(None, *SHAPE)] == seen


def test_a_reader_is_read_to_its_end() -> None:
    """With the last batch, whoever holds something for it may let go."""
    import tensorflow as tf
    from audioloom_trainer.distributed.steps import make_train_block
    from audioloom_trainer.input.dataset import BatchStream

    ended = []

    def holding() -> Iterator[Batch]:
        yield from batches()
        ended.append(True)

    run = make_train_block(tf.distribute.get_strategy(), tiny(), CPU, idle=False)
    run(BatchStream(holding(), len(SIZES), SET), len(SIZES), [])
    assert [True] == ended
