"""The same work as Spark tasks: the same bytes, and errors that arrive as themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from sharder_features import make_features, relabelled, windows

# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

ROWS = windows(60, groups=30)


def test_spark_writes_the_bytes_that_one_process_writes(sharder: Callable, tmp_path: Path) -> None:
    """local[2] against this process, and verify as Spark tasks too."""
    features = make_features(tmp_path, [ROWS[:20], ROWS[20:50], ROWS[50:]])
    inline = sharder("run", features.folder, "--name", "inline", "--master", "inline")
    spark = sharder("run", features.folder, "--name", "spark", "--master", "local[2]")
    assert 0 == spark.code, spark.err
    one, other = (read_manifest(ran.out.strip(), "shards") for ran in (inline, spark))
    assert one.files() == other.files()
    assert one.manifest.identity == other.manifest.identity


@pytest.mark.slow
def test_an_error_in_a_task_reaches_the_user(sharder: Callable, tmp_path: Path) -> None:
    """A rotten file is named with exit code 65, not as a failure of Spark."""
    features = make_features(tmp_path, [ROWS, relabelled(ROWS[:1], 0, path="z.wav")])
    path = Path(features.folder.path, features.files("features")[1].path)
    data = bytearray(path.read_bytes())
    data[4] ^= 1
    path.write_bytes(bytes(data))
    ran = sharder("run", features.folder, "--master", "local[2]")
    assert 65 == ran.code
    assert path.name in ran.err
    assert "py4j" not in ran.err
