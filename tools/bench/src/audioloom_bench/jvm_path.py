"""spark-tfrecord's way from a row to a TFRecord, rebuilt: its own jar is in no public registry.

`PerRecord.java` says what it does with each row, by the classes of tensorflow-hadoop that it uses
itself. It is compiled here, as nothing but a Java runtime can be taken for granted.
"""

from __future__ import annotations

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pyspark
from audioloom_mini_cluster.jars import default_cache, ensure, parse
from audioloom_spark.java import find_java

_COMPILER = "ecj-"


def class_path(scratch: Path) -> str:
    """What Spark's class path needs for it; compiled into *scratch*."""
    java = find_java()
    here = files("audioloom_bench")
    pinned = parse(here.joinpath("jvm_path.txt").read_text("ascii"))
    jars = sorted(ensure("tfrecord", pinned, default_cache(), java=java).glob("*.jar"))
    [compiler] = [jar for jar in jars if jar.name.startswith(_COMPILER)]
    sparks = sorted(Path(pyspark.__file__).parent.glob("jars/*.jar"))
    target = scratch / "classes"
    source = here.joinpath("PerRecord.java")
    known = os.pathsep.join(map(str, (*sparks, *jars)))
    words = [str(java), "-jar", str(compiler), "-17", "-nowarn", "-cp", known]
    subprocess.run([*words, "-d", str(target), str(source)], check=True)
    return os.pathsep.join(map(str, (target, *(jar for jar in jars if jar != compiler))))
