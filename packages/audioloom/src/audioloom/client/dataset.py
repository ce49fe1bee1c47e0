"""Records of shards as a `tf.data.Dataset`. Needs the extra `audioloom[cpu]`, or TensorFlow."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf
from audioloom_manifest.errors import RecordError
from audioloom_manifest.file_list import read_file
from audioloom_manifest.kinds import ShardsManifest
from audioloom_manifest.reader import Opened
from audioloom_manifest.records import example, tfrecord
from audioloom_manifest.records.compression import open_decompressed
from audioloom_stage.errors import BadData
from numpy.typing import NDArray


def dataset(opened: Opened[ShardsManifest], split: str) -> tf.data.Dataset:
    """Return the records of a split, as `Shards.dataset` says."""
    stats, recipe = opened.manifest.stats, opened.manifest.recipe
    if split not in stats.splits:
        names = ", ".join(stats.splits)
        raise BadData(where=opened.location, expected=f"a split among {names}", found=repr(split))
    if recipe.format != "tfrecord":
        raise BadData(
            where=opened.location,
            expected="shards in the format tfrecord",
            found=recipe.format,
            hint="Read the files with a library of that format.",
        )
    shards = [entry for entry in opened.files("shard") if entry.split == split]
    shards.sort(key=lambda entry: entry.shard or 0)
    numbers = recipe.target == "number"
    feature = stats.feature
    dtype = np.dtype(feature.dtype).newbyteorder("<")
    signature = (
        tf.TensorSpec(feature.shape, tf.float32),
        tf.TensorSpec((), tf.float32 if numbers else tf.int64),
    )

    def records() -> Iterator[tuple[NDArray[np.float32], float | int]]:
        for entry in shards:
            stream: BinaryIO = io.BytesIO(read_file(opened.folder, entry))
            if entry.uncompressed is not None:
                size = entry.uncompressed.bytes
                stream = open_decompressed(stream, recipe.compression, size)
            try:
                for frame in tfrecord.read(stream):
                    record = example.decode(frame.payload, feature.name)
                    values = np.frombuffer(record.values, dtype).reshape(feature.shape)
                    label: Any = record.label_id if record.target is None else record.target
                    yield values.astype(np.float32), label
            except (RecordError, ValueError) as error:
                where = opened.folder / entry.path
                expected = "records of the manifest"
                raise BadData(where=where, expected=expected, found=error) from None

    made = tf.data.Dataset.from_generator(records, output_signature=signature)
    return made.apply(tf.data.experimental.assert_cardinality(stats.splits[split].records))
