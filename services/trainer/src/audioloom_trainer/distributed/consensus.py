"""Whether all workers mean the same run and hold the same weights, compared in one collective."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from audioloom_trainer.distributed.cluster import Cluster
from audioloom_trainer.distributed.peer_failures import translate_peer_failures
from audioloom_trainer.errors import PeersDisagree
from audioloom_trainer.input.batches import Replicas

_PIECES = 16  # of 16 bits each: a float32 adds them without an error


def require_consensus(
    strategy: Any, cluster: Cluster, replicas: Replicas, known: Mapping[str, str], when: str
) -> None:
    """Compare what the workers know; a barrier too, for every one of them has to come.

    Args:
        strategy: that of the workers.
        cluster: who they are.
        replicas: those of this process.
        known: by name, what has to be equal on all.
        when: for errors.

    Raises:
        PeersDisagree: naming what differs, and on which workers.
        PeerLost: one of them is gone.
    """
    if cluster.size == 1:
        return
    mine = np.stack([_pieces(value) for value in known.values()])
    table = np.zeros((cluster.size, *mine.shape), np.float32)
    table[cluster.rank] = mine
    with translate_peer_failures(cluster, when):
        everyone = sum_over_workers(strategy, table, replicas)
    for position, (name, value) in enumerate(known.items()):
        others = [
            rank
            for rank in range(cluster.size)
            if not np.array_equal(everyone[rank, position], everyone[0, position])
        ]
        if others:
            raise PeersDisagree(
                f"the workers do not agree on the {name} {when}",
                expected="what worker 0 has",
                found=f"something else on worker {', '.join(map(str, others))}"
                f" (here, on worker {cluster.rank}: {value[:200]})",
                hint="Start all workers anew, with the same command in the same environment.",
            )


def _pieces(value: str) -> NDArray[np.float32]:
    digest = hashlib.sha256(value.encode()).digest()
    return np.frombuffer(digest, dtype="<u2").astype(np.float32)


def sum_over_workers(strategy: Any, values: NDArray[Any], replicas: Replicas) -> NDArray[Any]:
    """The sum over all workers of arrays of one shape and floating type; all of them have to come.

    Args:
        strategy: that of the workers.
        values: this worker's; it counts once, whatever its replicas.
        replicas: those of this process.
    """
    result: NDArray[Any] = _adder(strategy, replicas)(tf.constant(values)).numpy()
    return result


@functools.cache  # else it would be traced anew after every epoch
def _adder(strategy: Any, replicas: Replicas) -> Any:
    def part(values: Any) -> Any:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return values * tf.cast(tf.equal(number, replicas.first), values.dtype)

    def total(values: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(part, args=(values,)), axis=None)

    return tf.function(total)


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
