from pathlib import Path

import numpy as np
from audioloom_bench.made_shards import CLASSES, LANES, SHAPE, made_shards
from audioloom_bench.train import naive_batches
from audioloom_trainer.index import Expected, parse_index


def test_both_lanes_read_what_was_made(tmp_path: Path) -> None:
    """The naive pipeline finds every record, and the index of a shard is one the trainer takes."""
    made = made_shards(tmp_path, 50)
    assert [3, 3, 2] == [made.split("train").shards[n].records for n in (0, 1, LANES - 1)]
    batches = [(x.numpy(), y.numpy()) for x, y in naive_batches(tmp_path)]
    assert (50, *SHAPE) == np.concatenate([x for x, _ in batches]).shape
    shard = made.split("train").shards[0]
    expected = Expected(shard.records, shard.data.bytes, made.value_bytes, CLASSES)
    parse_index(Path(shard.index.location.path).read_bytes(), expected, shard.index.location)


def test_same_network_in_both_kerases() -> None:
    """Keras 3 and tf_keras build networks of the same weights, in the same order."""
    import keras
    import tf_keras
    from audioloom_bench.same_network import conv1d

    shapes = [
        [tuple(weight.shape) for weight in conv1d(each, SHAPE, CLASSES).trainable_variables]
        for each in (keras, tf_keras)
    ]
    assert shapes[0] == shapes[1]
