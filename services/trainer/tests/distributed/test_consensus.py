"""A few numbers that stand for all weights."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("tensorflow")


def digest_of(model: Any) -> Callable[[], list[tuple[int, int]]]:
    """What answers the numbers of a model in one process."""
    import tensorflow as tf
    from audioloom_trainer.distributed.consensus import make_weight_digest

    return make_weight_digest(tf.distribute.get_strategy(), model)


def network(dtype: str = "float32") -> Any:
    """Two layers of the same shape, and normalisation."""
    import keras

    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(4, dtype=dtype) for _ in range(2)]
    return keras.Sequential([keras.Input((4,)), *layers, keras.layers.BatchNormalization()])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_any_bit_of_any_weight_changes_it(dtype: str) -> None:
    """The lowest bit of one value in each of the variables."""
    model = network(dtype)
    digest = digest_of(model)
    seen = [digest()]
    for variable in model.weights:
        raw = np.array(variable.numpy())
        raw.reshape(-1).view(np.uint8)[0] ^= 1
        variable.assign(raw)
        seen.append(digest())
    assert len(seen) == len({tuple(each) for each in seen})


def test_exchanged_values_and_layers_change_it() -> None:
    """The sum over the bits is the same, their places are not."""
    model = network()
    digest = digest_of(model)
    before = digest()
    first, second = (layer.kernel for layer in model.layers[:2])
    values = first.numpy(), second.numpy()
    first.assign(values[0][::-1])
    turned = digest()
    first.assign(values[1])
    second.assign(values[0])
    assert 3 == len({tuple(each) for each in (before, turned, digest())})


def test_the_same_weights_have_the_same_one() -> None:
    """In another process too: nothing in it is random."""
    one, other = (digest_of(network())() for _ in range(2))
    assert one == other
    assert 1 == len(one)


@given(st.binary(max_size=99), st.sampled_from([2, 8, 64]), st.integers(2, 4))
def test_all_workers_get_the_chiefs_bytes(data: bytes, most: int, size: int) -> None:
    """In pieces of any length; a sum in memory stands in for TensorFlow's collective."""
    from audioloom_trainer.distributed import consensus
    from audioloom_trainer.distributed.cluster import Cluster

    met, told = Barrier(size), dict[int, np.ndarray]()

    def summed(gang: Any, values: np.ndarray) -> np.ndarray:
        told[gang.cluster.rank] = values
        met.wait()
        total = np.sum([told[rank] for rank in range(size)], axis=0, dtype=np.float32)
        met.wait()
        return total

    def worker(rank: int) -> bytes:
        gang: Any = SimpleNamespace(cluster=Cluster(("a",) * size, rank))
        return consensus.broadcast(gang, data if rank == 0 else b"")

    with pytest.MonkeyPatch.context() as patched, ThreadPoolExecutor(size) as workers:
        patched.setattr(consensus, "sum_over_workers", summed)
        patched.setattr(consensus, "BROADCAST_BYTES", most)
        assert [data] * size == list(workers.map(worker, range(size)))
