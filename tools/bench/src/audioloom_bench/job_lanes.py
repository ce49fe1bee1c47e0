"""A whole job as one lane of the benchmark `job` does it, and the seconds it took.

Each function is called in a process of its own, and starts its clock when the session stands (or,
where there is none, when work begins): what it needs is imported behind that.
"""

from __future__ import annotations

import io
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings

PATTERN = r"(?P<label>[a-z]{2})/(?P<group>.+)\.wav"
RATE, SAMPLES = 16_000, 160_000
PIECES = 32
"""As many tasks as the featurizer makes of a small set."""


def ours(source: Path, out: Path, cores: int) -> float:
    """`audioloom-featurizer scan` and `run`, in a session that stands already."""
    with spark_session("audioloom", SparkSettings(master=f"local[{cores}]")) as session:
        begin = time.perf_counter()
        from audioloom_featurizer.commands.run import run  # noqa: PLC0415 - it counts
        from audioloom_featurizer.commands.scan import scan  # noqa: PLC0415
        from audioloom_featurizer.extraction import spark  # noqa: PLC0415
        from audioloom_featurizer.settings import RunSettings, ScanSettings  # noqa: PLC0415

        asked: dict[str, Any] = {"source": str(source), "root": str(out), "pattern": PATTERN}
        scanned = scan(ScanSettings(**asked))
        asked = {"recordings": scanned.data["location"], "master": f"local[{cores}]"}
        with patch.object(spark, "spark_session", return_value=nullcontext(session)):
            done = run(RunSettings(**asked))
        seconds = time.perf_counter() - begin
    expect_all(source, int(str(done.data["windows"])))
    return seconds


def naive(source: Path, out: Path, cores: int) -> float:
    """`binaryFile`, librosa in a UDF, without the failures; Parquet.

    Kinder than what people write: nothing is counted on the way, no TFRecord is made of it, and the
    UDF is said to be no plain function, for else Spark calls it once more for the filter.
    """
    # Java as it is: the recordings go through it here.
    settings = {"spark.driver.extraJavaOptions": ""}
    with spark_session("naive", SparkSettings(master=f"local[{cores}]"), conf=settings) as session:
        begin = time.perf_counter()
        from pyspark.sql.functions import udf  # noqa: PLC0415
        from pyspark.sql.types import BinaryType  # noqa: PLC0415

        features = udf(_features, BinaryType(), useArrow=False).asNondeterministic()
        files = (
            session.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.wav")
            .load(str(source))
        )
        found = files.select("path", features("content").alias("mfcc")).where("mfcc is not null")
        found.write.parquet(str(out / "naive"))
        seconds = time.perf_counter() - begin
        count = session.read.parquet(str(out / "naive")).count()
    expect_all(source, count)
    return seconds


def _features(content: bytes) -> bytes | None:
    import librosa  # noqa: PLC0415 - in the worker
    import numpy as np  # noqa: PLC0415

    try:
        samples, _ = librosa.load(io.BytesIO(content), sr=RATE, mono=True)
        if not len(samples):
            return None
        samples = np.pad(samples[:SAMPLES], (0, max(0, SAMPLES - len(samples))))
        values = librosa.feature.mfcc(y=samples, sr=RATE, n_mfcc=40)
        return bytes(((values - values.mean()) / values.std()).astype("<f4").tobytes())
    except Exception:  # noqa: BLE001 - as it is written
        return None


def floor(source: Path, out: Path, cores: int) -> float:
    """The extraction alone, in plain processes: no Spark, no listing, no checksums, no output."""
    del out
    begin = time.perf_counter()
    paths = sorted(source.rglob("*.wav"))
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        windows = sum(pool.map(_extract, (paths[n::PIECES] for n in range(PIECES))))
    seconds = time.perf_counter() - begin
    expect_all(source, windows)
    return seconds


def _extract(paths: list[Path]) -> int:
    from audioloom_audio import ExtractionSettings, RefusedRecording, extract  # noqa: PLC0415

    settings, windows = ExtractionSettings(), 0
    for path in paths:
        try:
            with path.open("rb") as file, extract(file, settings) as extraction:
                windows += len(list(extraction))
        except RefusedRecording:
            pass
    return windows


def expect_all(source: Path, windows: int) -> None:
    """Every recording has a window, but for those that are empty: one of the Russian ones is."""
    recordings = sum(1 for _ in source.rglob("*.wav"))
    if not recordings - 1 <= windows <= recordings:
        raise ValueError(f"expected a window of each of {recordings} recordings, found {windows}")
