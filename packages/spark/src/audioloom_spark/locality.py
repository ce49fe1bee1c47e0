"""Find the hosts of the units' input blocks, so that Spark runs units there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from audioloom_storage import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WITH_BLOCKS = ("hdfs", "webhdfs")
_MOST_HOSTS = 3
MOST_PLACED = 5000
"""More units than this run anywhere: finding the hosts of each takes milliseconds, one by one."""


def block_hosts(
    session: SparkSession, inputs: Sequence[Sequence[Location]]
) -> list[tuple[str, ...]]:
    """Return the hosts that hold most bytes of each unit's input, at most three.

    None are returned if they are unknown, or for more than `MOST_PLACED` units.

    Args:
        session: from `spark_session`: Hadoop's own client is asked, once for each file.
        inputs: for each unit, the files that matter: a few large ones speak for many small.
    """
    if len(inputs) > MOST_PLACED:
        return [()] * len(inputs)
    found = []
    for locations in inputs:
        held: Counter[str] = Counter()
        for location in locations:
            if location.scheme in _WITH_BLOCKS:
                held.update(_bytes_by_host(session, location))
        most = sorted(held.items(), key=lambda item: (-item[1], item[0]))
        found.append(tuple(host for host, _ in most[:_MOST_HOSTS]))
    return found


def _bytes_by_host(session: SparkSession, location: Location) -> Counter[str]:
    context: Any = session.sparkContext
    held: Counter[str] = Counter()
    try:
        path = context._jvm.org.apache.hadoop.fs.Path(  # noqa: SLF001 - the way to Java
            location.scheme, location.authority or None, location.path
        )
        system = path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        status = system.getFileStatus(path)
        for block in system.getFileBlockLocations(status, 0, status.getLen()):
            for host in block.getHosts():
                held[str(host)] += block.getLength()
    except Exception:  # noqa: BLE001 - a hint: the unit itself says what is wrong with its input
        return Counter()
    return held


def placed(session: SparkSession, pieces: Sequence[tuple[Any, Sequence[str]]]) -> Any:
    """Make an RDD of one partition a piece, each preferring its hosts.

    Python's `parallelize` takes no preferences, Scala's `makeRDD` does: the pieces cross over
    pickled, as Spark's own serialiser would write them.
    """
    from pyspark import RDD  # noqa: PLC0415
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

    context: Any = session.sparkContext
    if not any(hosts for _, hosts in pieces):
        return context.parallelize([piece for piece, _ in pieces], numSlices=len(pieces))
    jvm = context._jvm  # noqa: SLF001 - the way to Scala
    serializer = CPickleSerializer()
    together = jvm.java.util.ArrayList()
    for piece, hosts in pieces:
        names = jvm.java.util.ArrayList()
        for host in hosts:
            names.add(host)
        sequence = jvm.PythonUtils.toSeq(names)
        together.add(jvm.scala.Tuple2(bytearray(serializer.dumps(piece)), sequence))
    kind = jvm.scala.reflect.ClassTag.Any()
    scala = context._jsc.sc().makeRDD(jvm.PythonUtils.toSeq(together), kind)  # noqa: SLF001
    return RDD(scala.toJavaRDD(), context, serializer)
