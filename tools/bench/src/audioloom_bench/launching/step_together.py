"""A script for a Python that has TensorFlow: one step of two workers, and when it was done.

    python step_together.py NOTES

It ends when NOTES has a file `go`.
"""

import json
import os
import sys
import time
from pathlib import Path

WITHIN_S = 120


def main() -> None:
    """Do it."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf  # noqa: PLC0415 - what is measured

    notes = Path(sys.argv[1])
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones([40 * 313, 8]))

    @tf.function  # type: ignore[untyped-decorator]
    def step(batch: object) -> object:
        def each(batch: object) -> object:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights)))
            (slope,) = tape.gradient(loss, [weights])
            context = tf.distribute.get_replica_context()
            weights.assign_sub(context.all_reduce("mean", slope))
            return loss

        return strategy.run(each, args=(batch,))

    float(strategy.reduce("mean", step(tf.ones([64, 40 * 313])), axis=None))
    (notes / f"{rank}.json").write_text(json.dumps(time.monotonic()))
    until = time.monotonic() + WITHIN_S
    while not (notes / "go").exists() and time.monotonic() < until:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
