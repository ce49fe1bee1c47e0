from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from audioloom.client.dataset import dataset
from audioloom_manifest.reader import Opened
from audioloom_stage.errors import BadData
from audioloom_storage import Location
from small_root import make_shards, values_of


def numbers_of(found: Any) -> list[int]:
    """Which records these are, by their values."""
    return [int(values[0, 0]) for values, _ in found.as_numpy_iterator()]


def test_an_unknown_split_is_told(runs: dict[str, Opened[Any]]) -> None:
    """With those that there are."""
    with pytest.raises(BadData, match="expected a split among train, found 'tset'"):
        dataset(runs["shards"], "tset")


def test_another_format_is_told(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Its own libraries read it."""
    made = make_shards(root, runs["features"], "columns", form="parquet")
    with pytest.raises(BadData, match="found parquet"):
        dataset(made, "train")


def test_a_changed_shard_is_refused(runs: dict[str, Opened[Any]]) -> None:
    """When it is reached, before a record of it is given out."""
    shards = runs["shards"]
    file = Path(shards.folder.path, shards.files("shard")[0].path)
    file.write_bytes(file.read_bytes()[:-1] + b"\0")
    with pytest.raises(tf.errors.OpError, match="WrongChecksum"):
        numbers_of(dataset(shards, "train"))


def test_a_file_of_other_records_is_refused(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Its digest is right, and its content is not what the manifest says of it."""
    made = make_shards(root, runs["features"], "half", dtype="float16")
    feature = made.manifest.stats.feature
    object.__setattr__(feature, "dtype", "float32")
    with pytest.raises(tf.errors.OpError, match="records of the manifest"):
        numbers_of(dataset(made, "train"))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_records_come_in_the_order_of_the_shards(
    root: Location, runs: dict[str, Opened[Any]], dtype: str, compression: str
) -> None:
    """Feature and label of each, with the number of records known beforehand."""
    options: dict[str, Any] = {"dtype": dtype, "compression": compression}
    made = make_shards(root, runs["features"], "many", records=11, shards=3, **options)
    found = dataset(made, "train")
    assert 11 == int(found.cardinality())
    order = [n for shard in range(3) for n in range(shard, 11, 3)]
    assert order == numbers_of(found)
    for n, (values, label) in zip(order, found.as_numpy_iterator(), strict=True):
        assert values_of(n).tolist() == values.tolist()
        assert n % 2 == label
    (batch, labels) = next(iter(found.batch(4)))
    assert ((4, 2, 3), tf.float32, tf.int64) == (batch.shape, batch.dtype, labels.dtype)


def test_numbers_are_labels_of_float32(root: Location, runs: dict[str, Opened[Any]]) -> None:
    """Where a number is learned."""
    made = make_shards(root, runs["features"], "numbers", numbers=True)
    found = dataset(made, "train")
    assert [0.0, 1.0, 2.0, 0.5, 1.5] == [float(label) for _, label in found.as_numpy_iterator()]
    assert tf.float32 == found.element_spec[1].dtype
