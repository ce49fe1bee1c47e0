"""A whole job from features to TFRecord files, each lane in a process of its own.

`python -m audioloom_bench.shard_lanes LANE FEATURES OUT CORES SHARDS JOBS CLASS_PATH` does the job
so often, in one session, says a line after each and waits for one before the next.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

DONE = "the job is done"
_NAIVE_MEMORY = "4g"
_SMALL_BATCHES = {
    # Spark's own 4,096 rows are 200 MB of these.
    "spark.sql.parquet.columnarReaderBatchSize": "64",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
}


@dataclass(frozen=True)
class Asked:
    """A job: features run, folder to write into, cores, shards, class path of the JVM's lanes."""

    features: str
    out: str
    cores: int
    shards: int
    classes: str

    @property
    def master(self) -> str:
        """The Spark master."""
        return f"local[{self.cores}]"


Job = Callable[[int], None]
"""Does the job of this number, into a folder of its own."""


@contextmanager
def ours(asked: Asked) -> Iterator[Job]:
    """`audioloom-sharder run`, whole; its session is kept for the jobs after the first."""
    from audioloom_sharder.commands.run import run  # noqa: PLC0415
    from audioloom_sharder.settings import RunSettings  # noqa: PLC0415
    from audioloom_spark import session  # noqa: PLC0415 - imports count

    start = session.spark_session
    with ExitStack() as stack:
        kept: list[Any] = []

        @contextmanager
        def keeping(*options: Any, **more: Any) -> Iterator[Any]:
            if not kept:
                kept.append(stack.enter_context(start(*options, **more)))
            yield kept[0]

        stack.enter_context(patch.object(session, "spark_session", keeping))

        def job(number: int) -> None:
            settings: dict[str, Any] = {
                "features": (asked.features,),
                "root": f"{asked.out}/{number}",
                "split": "train=1",
                "lanes": asked.shards,
                "shards": asked.shards,
                "master": asked.master,
            }
            run(RunSettings(**settings))

        yield job


@contextmanager
def naive(asked: Asked) -> Iterator[Job]:
    """What people write first: an Example of lists in an RDD, `repartition`, a writer a partition.

    Kinder than most: the columns that it does not need are never read. On HDFS it is
    tensorflow-hadoop that writes, as TensorFlow's own writer would need Hadoop's native library.
    """
    with _session("naive", asked) as session:

        def job(number: int) -> None:
            examples = _rows(session, asked).rdd.map(_example).repartition(asked.shards)
            target = f"{asked.out}/{number}"
            if target.startswith("hdfs://"):
                pairs = examples.map(lambda example: (bytearray(example), None))
                pairs.saveAsNewAPIHadoopFile(
                    target,
                    "org.tensorflow.hadoop.io.TFRecordFileOutputFormat",
                    keyClass="org.apache.hadoop.io.BytesWritable",
                    valueClass="org.apache.hadoop.io.NullWritable",
                )
            else:
                Path(target).mkdir(parents=True)
                examples.mapPartitionsWithIndex(partial(_write_examples, target)).count()

        yield job


@contextmanager
def jvm_path(asked: Asked) -> Iterator[Job]:
    """spark-tfrecord's path, rebuilt: the values stay bytes, which it does best."""
    with _session("jvm-path", asked) as session:

        def job(number: int) -> None:
            rows = _rows(session, asked).repartition(asked.shards)
            java = session.sparkContext._jvm  # noqa: SLF001 - the way to Java
            java.audioloom.bench.PerRecord.write(rows._jdf, f"{asked.out}/{number}")  # noqa: SLF001

        yield job


@contextmanager
def shuffled(asked: Asked) -> Iterator[Job]:
    """The other way that is known: Spark's shuffle by shard and a sort, Python tasks that write.

    Kinder to it than the sharder is to itself: shard and position are a hash that Spark computes
    on the way, without ranks, so shards are not even, and nothing can be resumed.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - imports count

    with _session("shuffled", asked, _SMALL_BATCHES) as session:

        def job(number: int) -> None:
            place = f.xxhash64("path")
            rows = _rows(session, asked).withColumn("place", place)
            rows = rows.withColumn("shard", f.pmod("place", f.lit(asked.shards)).cast("int"))
            rows = rows.repartitionById(asked.shards, "shard").sortWithinPartitions("place")
            write = partial(_write_shard, f"{asked.out}/{number}")
            rows.mapInArrow(write, "records long").agg({"records": "sum"}).collect()

        yield job


@contextmanager
def floor(asked: Asked) -> Iterator[Job]:
    """The features' bytes copied through the same storage, a MiB at a time."""
    from audioloom_storage import create, locate, open_read, walk  # noqa: PLC0415 - imports count

    def job(number: int) -> None:
        for entry in walk(locate(f"{asked.features}/features")):
            target = locate(f"{asked.out}/{number}/{entry.location.name}")
            with open_read(entry.location) as source, create(target) as copy:
                while piece := source.read(1 << 20):
                    copy.write(piece)

    yield job


LANES = {each.__name__: each for each in (naive, jvm_path, shuffled, ours, floor)}


@contextmanager
def _session(name: str, asked: Asked, settings: dict[str, str] | None = None) -> Iterator[Any]:
    from audioloom_spark.session import spark_session  # noqa: PLC0415 - imports count
    from audioloom_spark.settings import SparkSettings  # noqa: PLC0415

    told = {
        "spark.driver.memory": _NAIVE_MEMORY,
        "spark.driver.extraClassPath": asked.classes,
        "spark.driver.extraJavaOptions": "",  # Java as it is: payload goes through it here
    }
    spark = SparkSettings(master=asked.master)
    with spark_session(name, spark, conf={**told, **(settings or {})}) as session:
        yield session


def _rows(session: Any, asked: Asked) -> Any:
    features = session.read.parquet(f"{asked.features}/features")
    return features.select("path", "label", "group", "window", "valid_frames", "mfcc")


def _example(row: Any) -> bytes:
    import numpy as np  # noqa: PLC0415 - in the worker
    import tensorflow as tf  # noqa: PLC0415

    def text(value: str) -> Any:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))

    def number(value: int) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    values = np.frombuffer(row.mfcc, np.float32).tolist()
    features = {
        "path": text(row.path),
        "label": text(row.label),
        "group": text(row.group),
        "window": number(row.window),
        "valid_frames": number(row.valid_frames),
        "mfcc": tf.train.Feature(float_list=tf.train.FloatList(value=values)),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString())


def _write_examples(folder: str, number: int, examples: Iterable[bytes]) -> Iterator[int]:
    import tensorflow as tf  # noqa: PLC0415 - in the worker

    with tf.io.TFRecordWriter(f"{folder}/part-{number:05}.tfrecord") as writer:
        for example in examples:
            writer.write(example)
    yield number


def _write_shard(folder: str, batches: Iterator[Any]) -> Iterator[Any]:
    """A partition is a shard: encode, write, digest, moments, index, as the sharder does."""
    import hashlib  # noqa: PLC0415 - in the worker

    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    from audioloom_manifest.kinds import ShardFeature  # noqa: PLC0415
    from audioloom_manifest.records.example import Record, Stored, around  # noqa: PLC0415
    from audioloom_manifest.records.index import HEADER_BYTES, dump  # noqa: PLC0415
    from audioloom_manifest.records.tfrecord import OVERHEAD_BYTES, frame_into  # noqa: PLC0415
    from audioloom_sharder.statistics import coefficient_sums  # noqa: PLC0415
    from audioloom_storage import create, locate, publish  # noqa: PLC0415
    from pyspark import TaskContext  # noqa: PLC0415

    from audioloom_bench.made_features import FEATURE  # noqa: PLC0415

    feature = ShardFeature(name=FEATURE.name, dtype=FEATURE.dtype, shape=FEATURE.shape)
    stored = Stored(feature.name, "float_list")
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - this is a task
    name = f"{folder}/{context.partitionId():05}"
    sha256, index, offset = hashlib.sha256(), [], 0
    with create(locate(f"{name}.tfrecord")) as shard:
        for batch in batches:
            columns = batch.to_pydict()
            for number, values in enumerate(columns[feature.name]):
                record = Record(
                    channel=-1,
                    group=columns["group"][number],
                    label=columns["label"][number],
                    label_id=0,
                    path=columns["path"][number],
                    target=None,
                    valid_frames=columns["valid_frames"][number],
                    values=values,
                    window=columns["window"][number],
                )
                before, after = around(record, len(values), stored)
                length = len(before) + len(values) + len(after) + OVERHEAD_BYTES
                room = np.empty(length, np.uint8)
                frame_into(room, (before, values, after))
                shard.write(room.data)
                sha256.update(room.data)
                index.append((offset, length, offset + HEADER_BYTES + len(before), 0))
                offset += length
            coefficient_sums(b"".join(columns[feature.name]), feature, where=name)
    publish(locate(f"{name}.idx.npy"), dump(np.array(index, np.int64)))
    yield pa.RecordBatch.from_pydict({"records": [len(index)]})


def main() -> None:
    """Do the jobs of a lane."""
    lane, features, out, cores, shards, jobs, classes = sys.argv[1:]
    # Java and its tasks write to stdout what they like: the lines are for whoever started us.
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with LANES[lane](Asked(features, out, int(cores), int(shards), classes)) as job:
        for number in range(int(jobs)):
            job(number)
            print(DONE, file=told, flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    main()
