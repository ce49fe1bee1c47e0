# ruff: noqa: D102, D103, T201 - as its users write it
"""A training as users of TonY write it: who it is, its variables say; the chief has a page.

    tony_style.py --working_dir DIR [--steps N]

It knows nothing of audioloom, and nothing in it may be changed for our launcher's sake.
"""

import argparse
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import tensorflow as tf

BATCH_PER_WORKER = 8
TRUE_WEIGHTS = [[2.0], [-1.0], [0.5]]

cluster_spec = json.loads(os.environ["CLUSTER_SPEC"])
job_name = os.environ["JOB_NAME"]
task_index = int(os.environ["TASK_INDEX"])
task_num = int(os.environ["TASK_NUM"])
is_chief = os.environ["IS_CHIEF"] == "true"


class Page(BaseHTTPRequestHandler):
    """Stands for TensorBoard."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the chief's page")

    def log_message(self, *_: object) -> None:
        return None


def start_page() -> None:
    server = HTTPServer(("127.0.0.1", int(os.environ["TB_PORT"])), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"page on port {server.server_port}")


def dataset(_: tf.distribute.InputContext) -> tf.data.Dataset:
    generator = tf.random.Generator.from_seed(task_index)
    xs = generator.normal((256, 3))
    ys = xs @ tf.constant(TRUE_WEIGHTS)
    return tf.data.Dataset.from_tensor_slices((xs, ys)).repeat().batch(BATCH_PER_WORKER)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--working_dir", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=120)
    flags = parser.parse_args()

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert task_num == len(cluster_spec[job_name]) == strategy.num_replicas_in_sync
    if is_chief:
        start_page()
    with strategy.scope():
        weights = tf.Variable(tf.zeros((3, 1)))
    batches = iter(strategy.distribute_datasets_from_function(dataset))

    def step(xs: tf.Tensor, ys: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((xs @ weights - ys) ** 2) / (BATCH_PER_WORKER * task_num)
        gradient = tape.gradient(loss, weights)
        everywhere = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
        weights.assign_sub(0.1 * everywhere)
        return loss

    @tf.function
    def train_step() -> tf.Tensor:
        return strategy.reduce("SUM", strategy.run(step, args=next(batches)), axis=None)

    loss = tf.constant(0.0)
    for _ in range(flags.steps):
        loss = train_step()
    learnt = {"loss": float(loss), "weights": weights.numpy().tolist()}
    print(json.dumps(learnt))
    if is_chief:
        flags.working_dir.mkdir(parents=True, exist_ok=True)
        (flags.working_dir / "model.json").write_text(json.dumps(learnt))


if __name__ == "__main__":
    main()
