from pathlib import Path

import numpy as np
import pytest
from audioloom_bench.made_shards import CLASSES, LANES, SHAPE, made_shards
from audioloom_bench.same_network import NETWORKS
from audioloom_bench.training.pipelines import (
    Epochs,
    files_of,
    good_batches,
    naive_batches,
)
from audioloom_storage import locate
from audioloom_trainer.shards.shard_set import open_shards


def test_every_lane_reads_what_was_made(tmp_path: Path) -> None:
    """Each pipeline finds every record, and the trainer takes shards, indexes and manifest."""
    opened = made_shards(locate(tmp_path), 50)
    made, manifest = open_shards(opened), str(opened.location)
    assert [3, 3, 2] == [made.split("train").shards[n].records for n in (0, 1, LANES - 1)]
    for batches in (naive_batches, good_batches):
        found = [x.numpy() for x, _ in batches(files_of(manifest))]
        assert (50, *SHAPE) == np.concatenate(found).shape
    epochs = Epochs(manifest)
    assert [50, 50] == [sum(len(each.targets) for each in epochs.batches()()) for _ in range(2)]
    epochs.close()
    shard = made.split("train").shards[0]
    assert CLASSES == made.classes
    made.parse_index(shard, Path(shard.index.location.path).read_bytes())


@pytest.mark.slow
def test_same_networks_in_both_kerases() -> None:
    """Keras 3 and tf_keras build networks of the same weights, in the same order."""
    import keras
    import tf_keras

    for network in NETWORKS.values():
        shapes = [
            [tuple(weight.shape) for weight in network(each, SHAPE, CLASSES).trainable_variables]
            for each in (keras, tf_keras)
        ]
        assert shapes[0] == shapes[1]
