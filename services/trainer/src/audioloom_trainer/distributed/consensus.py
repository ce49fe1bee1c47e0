"""Compare run and weights of all workers by collectives; give all of them bytes of the chief."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from audioloom_trainer.distributed.peer_failures import translate_peer_failures
from audioloom_trainer.distributed.strategy import Gang
from audioloom_trainer.errors import PeersDisagree
from audioloom_trainer.input.batches import Replicas

BROADCAST_BYTES = 32 << 20  # of one collective, which sends twice as many


def require_consensus(gang: Gang, known: Mapping[str, str], when: str) -> None:
    """Require equal values on all workers. All workers must call it, so it is a barrier too.

    Raises:
        PeersDisagree: names the values that differ and the workers that have them.
        PeerLost: a worker is gone.
    """
    cluster = gang.cluster
    if cluster.size == 1:
        return
    digests = [hashlib.sha256(value.encode()).digest() for value in known.values()]
    mine = np.stack([_numbers_of(each, len(each)) for each in digests])
    table = np.zeros((cluster.size, *mine.shape), np.float32)
    table[cluster.rank] = mine
    with translate_peer_failures(cluster, when):
        everyone = sum_over_workers(gang, table)
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


def sum_over_workers(gang: Gang, values: NDArray[Any]) -> NDArray[Any]:
    """Sum arrays of one shape and floating type over all workers. All workers must call it."""
    return np.asarray(_adder(gang)(tf.constant(values)))


@functools.cache  # otherwise TensorFlow would trace it again after every epoch
def _adder(gang: Gang) -> Any:
    return tf.function(lambda values: sum_in_graph(gang.strategy, values, gang.replicas))


def sum_in_graph(strategy: Any, values: Any, replicas: Replicas) -> Any:
    """Sum a tensor over all workers; that of each worker counts once for all its replicas."""

    def once(values: Any) -> Any:
        if replicas.count == 1:
            return values
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return values * tf.cast(tf.equal(number, replicas.first), values.dtype)

    return strategy.reduce("SUM", strategy.run(once, args=(values,)), axis=None)


def broadcast(gang: Gang, data: bytes) -> bytes:
    """Return the chief's *data* on every worker. All workers must call it.

    So a large file that all workers need is read from storage once.
    """
    cluster = gang.cluster
    if cluster.size == 1:
        return data
    mine = data if cluster.is_chief else b""
    length = sum_over_workers(gang, _numbers_of(len(mine).to_bytes(8, "little"), 8))
    size = int.from_bytes(length.astype("<u2").tobytes(), "little")
    found = bytearray()
    while len(found) < size:
        count = min(BROADCAST_BYTES, size - len(found))
        piece = _numbers_of(mine[len(found) : len(found) + count], count)
        found += sum_over_workers(gang, piece).astype("<u2").tobytes()[:count]
    return bytes(found)


def _numbers_of(data: bytes, size: int) -> NDArray[np.float32]:
    """Return *data*, with zeros up to *size* bytes, as numbers that float32 adds exactly."""
    padded = data.ljust(size + size % 2, b"\0")
    return np.frombuffer(padded, dtype="<u2").astype(np.float32)


_STEP = 1_000_003  # odd and prime: exchanging two layers changes the sum


def make_weight_digest(strategy: Any, model: keras.Model) -> Callable[[], list[tuple[int, int]]]:
    """Make the function that returns the weight digest of each replica of this process."""
    variables = list(model.weights)

    def digest() -> Any:
        total = tf.zeros((2,), tf.int32)
        for variable in variables:
            total = total * _STEP + _numbers(tf.convert_to_tensor(variable))
        return total

    run = tf.function(lambda: tf.stack(strategy.experimental_local_results(strategy.run(digest))))
    return lambda: [(int(one), int(other)) for one, other in run().numpy()]


def _numbers(value: Any) -> Any:
    """Return two sums over the bits of a tensor, int32 (2,): plain, and weighted by position."""
    kind = {1: tf.uint8, 2: tf.uint16}.get(value.dtype.size, tf.int32)
    if value.dtype.is_bool:
        value = tf.cast(value, tf.uint8)
    bits = tf.reshape(tf.cast(tf.bitcast(value, kind), tf.int32), [-1])
    places = 2 * tf.range(tf.size(bits)) + 1
    return tf.stack([tf.reduce_sum(bits), tf.reduce_sum(bits * places)])
