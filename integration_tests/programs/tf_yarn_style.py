# ruff: noqa: D103, PTH103, PTH118, T201 - as its users write it
"""A training as users of tf-yarn write it: TF_CONFIG alone, with a chief that saves for all.

    tf_yarn_style.py MODEL_DIR

A Keras model in a loop of its own. It knows nothing of audioloom, and nothing in it may be changed
for our launcher's sake.
"""

import json
import os
import shutil
import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras

EPOCHS, STEPS, BATCH = 3, 20, 16


def model_dir_of_task(model_dir: str, task_type: str, task_id: int) -> str:
    """Every worker has to save, to a place of its own; only the chief's is kept."""
    return model_dir if task_type == "chief" else f"{model_dir}-{task_type}-{task_id}"


def input_fn(context: tf.distribute.InputContext) -> tf.data.Dataset:
    random = np.random.default_rng(7)
    xs = random.normal(size=(640, 4)).astype("float32")
    ys = (xs.sum(axis=1, keepdims=True) > 0).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((xs, ys))
    data = data.shard(context.num_input_pipelines, context.input_pipeline_id)
    return data.repeat().batch(context.get_per_replica_batch_size(BATCH))


def main(model_dir: str) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    resolver = strategy.cluster_resolver
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    assert 1 == len(cluster["chief"])
    print(f"{resolver.task_type} {resolver.task_id} of {sorted(cluster)}")

    with strategy.scope():
        keras.utils.set_random_seed(1)
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
        )
        optimizer = keras.optimizers.SGD(0.5)
        optimizer.build(model.trainable_variables)
    losses = keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum")
    batches = iter(strategy.distribute_datasets_from_function(input_fn))

    @tf.function
    def train_step() -> tf.Tensor:
        def step(batch: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
            xs, ys = batch
            with tf.GradientTape() as tape:
                loss = losses(ys, model(xs, training=True)) / BATCH
            gradients = tape.gradient(loss, model.trainable_variables)
            context = tf.distribute.get_replica_context()
            gradients = [context.all_reduce("SUM", each) for each in gradients]
            optimizer.apply(gradients, model.trainable_variables)
            return loss

        return strategy.reduce("SUM", strategy.run(step, args=(next(batches),)), axis=None)

    for epoch in range(EPOCHS):
        loss = 0.0
        for _ in range(STEPS):
            loss = float(train_step())
        print(f"epoch {epoch}: {loss:.6f}")

    mine = model_dir_of_task(model_dir, resolver.task_type, resolver.task_id)
    os.makedirs(mine)
    model.save(os.path.join(mine, "model.keras"))
    if resolver.task_type != "chief":
        shutil.rmtree(mine)


if __name__ == "__main__":
    main(sys.argv[1])
