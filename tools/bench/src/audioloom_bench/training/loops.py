"""An epoch of training, by whichever loop: what the processes of a lane do."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from audioloom_bench.made_shards import CLASSES, SHAPE
from audioloom_bench.same_network import NETWORKS
from audioloom_bench.training.pipelines import (
    BATCH,
    WINDOW,
    Epochs,
    files_of,
    good_batches,
    in_memory,
    naive_batches,
)
from audioloom_bench.training.team import Work

BLOCK = 16
"""Steps of the trainer's longest block."""
WAITED = "waited"
"""The note of a lane that takes the time of its input."""


def fit(library: str, network: str, manifest: str, steps: int, *, naive: bool = False) -> Work:
    """An epoch of `Model.fit`, of "tf_keras" or of "keras"; with TF_CONFIG as one of its workers.

    Workers read files of their own, and their share of a batch each.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import tensorflow as tf  # noqa: PLC0415
    from audioloom_trainer.distributed.cluster import read_cluster  # noqa: PLC0415

    cluster, files = read_cluster(os.environ), files_of(manifest)
    strategy = tf.distribute.get_strategy()
    if cluster.size > 1:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = NETWORKS[network](import_module(library), SHAPE, CLASSES)
    if cluster.size > 1:
        own = files[cluster.rank :: cluster.size]

        def share(_: Any) -> Any:
            return good_batches(own, BATCH // cluster.size).repeat()

        data = strategy.distribute_datasets_from_function(share)
    else:
        data = naive_batches(files) if naive else good_batches(files)
        data = data.repeat()

    def epoch() -> None:
        model.fit(data, epochs=1, steps_per_epoch=steps, verbose=0)

    return epoch


def ours(
    network: str,
    manifest: str,
    steps: int,
    *,
    source: str = "shards",
    timed: bool = False,
    late_s: float = 0.0,
    cache: Path | None = None,
    window: int = WINDOW,
    threads: int = 0,
) -> Work:
    """An epoch of the trainer's loop; with TF_CONFIG as one of its workers.

    Args:
        network: by its name.
        manifest: of the shards.
        steps: of an epoch.
        source: "shards", or "memory" for one batch over and over.
        timed: note the seconds that the loop waited for input.
        late_s: by how much each batch then comes later, to see these seconds grow.
        cache: where copies of the shards go, if they cannot be read in place.
        window: shards of a lane that are shuffled together.
        threads: of TensorFlow; 0 takes the cores there are.
    """
    # TensorFlow has no time of day while it is deterministic.
    trainer = Trainer(network, deterministic=not timed, threads=threads)
    epochs = Epochs(
        manifest, replicas=trainer.replicas, cache=opened(cache) if cache else None, window=window
    )

    if timed:
        clock = Clock(trainer.model)
        batches = epochs.endless_stream(late_s) if source == "shards" else in_memory()

        def timed_epoch() -> dict[str, float]:
            before = clock.seconds
            trainer.train(batches, steps)
            return {WAITED: clock.seconds - before}

        return timed_epoch

    def epoch() -> None:
        trainer.train(epochs.stream() if source == "shards" else in_memory(), steps)

    return epoch


def opened(folder: Path) -> Any:
    """A cache for copies of shards."""
    from audioloom_trainer.input.cache import Cache  # noqa: PLC0415

    return Cache(folder, 1 << 40)


class Trainer:
    """A model and the function that trains it, under the strategy that TF_CONFIG asks for."""

    def __init__(
        self, network: str, *, deterministic: bool = True, threads: int = 0, **arguments: Any
    ) -> None:
        from audioloom_trainer.distributed.cluster import read_cluster  # noqa: PLC0415
        from audioloom_trainer.distributed.steps import make_train_block  # noqa: PLC0415
        from audioloom_trainer.distributed.strategy import (  # noqa: PLC0415
            local_replicas,
            make_strategy,
            set_up_tensorflow,
        )

        set_up_tensorflow(threads=threads, deterministic=deterministic, seed=0)
        cluster = read_cluster(os.environ)
        self.strategy = make_strategy(cluster)
        self.replicas = local_replicas(self.strategy, cluster)
        with self.strategy.scope():
            self.model = NETWORKS[network](import_module("keras"), SHAPE, CLASSES, **arguments)
            self.model.optimizer.build(self.model.trainable_variables)
        self._block = make_train_block(self.strategy, self.model, self.replicas, idle=False)

    def train(self, batches: Any, steps: int) -> None:
        """Train on so many batches, a block at a time, with as many signals as a session has."""
        for start in range(0, steps, BLOCK):
            self._block(batches, min(BLOCK, steps - start), [0.0, 0.0, 0.0])


class Clock:
    """How long steps waited: from the end of each to when the next one's batch was there.

    Times are taken inside TensorFlow's graph, so it has to be made before a block is traced; a few
    microseconds of each step are the clock's own.
    """

    def __init__(self, model: Any) -> None:
        import tensorflow as tf  # noqa: PLC0415
        from audioloom_trainer.distributed import steps  # noqa: PLC0415
        from audioloom_trainer.input.dataset import dequeue  # noqa: PLC0415

        self._waited = tf.Variable(0.0, dtype=tf.float64)
        self._following: Any = None
        apply = model.optimizer.apply

        def applied(gradients: Any, variables: Any) -> None:
            apply(gradients, variables)
            with tf.control_dependencies([tf.identity(each.value) for each in variables]):
                ended = tf.timestamp()
            with tf.control_dependencies([ended, self._following]):
                self._waited.assign_add(tf.timestamp() - ended)

        model.optimizer.apply = applied
        self._dequeue = dequeue
        setattr(steps, "dequeue", self._next)  # noqa: B010  by which a block takes a batch

    def _next(self, queue: Any, signature: Any) -> Any:
        batch = self._dequeue(queue, signature)
        self._following = batch[-1]
        return batch

    @property
    def seconds(self) -> float:
        """Waited so far."""
        return float(self._waited.numpy())
