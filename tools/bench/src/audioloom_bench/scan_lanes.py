"""Ways to list recordings, each made to run in a process of its own; it tells seconds and memory.

Memory is the most that Python held at once, and Java with it where there is one (peak RSS, MB).
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

MIB = 1 << 20
BATCH_ROWS = 64_000


def walked(source: Path, out: Path) -> tuple[float, float]:
    """The floor of a listing: names, sizes and times, in order, in a list; nothing is written."""
    del out
    begin = time.perf_counter()
    found = []
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - what is compared with
            seen = os.stat(path)  # noqa: PTH116
            found.append((path, seen.st_size, seen.st_mtime_ns))
    found.sort()
    return time.perf_counter() - begin, _peak()


def binary_file(source: Path, out: Path) -> tuple[float, float]:
    """The naive listing: Spark's `binaryFile` without the content, as Parquet."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - in the process that needs it

    begin = time.perf_counter()
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    listed = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    listed = listed.load(f"file://{source}").select("path", "length", "modificationTime")
    listed.orderBy("path").write.parquet(f"file://{out}/listed")
    seconds = time.perf_counter() - begin
    java = session.sparkContext._gateway.proc.pid  # noqa: SLF001
    peak = _peak() + _peak_of(java)
    session.stop()
    return seconds, peak


def scanned(source: Path, out: Path, master: str = "") -> tuple[float, float]:
    """Ours: a committed manifest."""
    return _scan(source, out, master=master)


def given(source: Path, out: Path) -> tuple[float, float]:
    """Ours, of a ready inventory beside the source."""
    return _scan(source, out, inventory=str(source.parent / "given.parquet"))


def _scan(source: Path, out: Path, **more: str) -> tuple[float, float]:
    begin = time.perf_counter()
    from audioloom_featurizer.commands.scan import scan  # noqa: PLC0415 - its import counts
    from audioloom_featurizer.settings import ScanSettings  # noqa: PLC0415

    scan(ScanSettings(source=str(source), root=str(out), **more))  # type: ignore[arg-type]
    java = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / MIB  # 0 where none was
    return time.perf_counter() - begin, _peak() + java


def one_table(source: Path, out: Path) -> tuple[float, float]:
    """The naive way with a ready inventory: one table in memory, sorted, written."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    begin = time.perf_counter()
    table = pq.read_table(source.parent / "given.parquet").sort_by("path")
    pq.write_table(table, out / "sorted.parquet", compression="zstd")
    return time.perf_counter() - begin, _peak()


def copied(source: Path, out: Path) -> tuple[float, float]:
    """The floor with a ready inventory: read and written, in the order that it has."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    begin = time.perf_counter()
    with pq.ParquetFile(source.parent / "given.parquet", pre_buffer=False) as file:
        schema = file.schema_arrow
        with pq.ParquetWriter(out / "copied.parquet", schema, compression="zstd") as writer:
            for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
                writer.write_batch(batch)
    return time.perf_counter() - begin, _peak()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB


def _peak_of(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [most] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(most) * 1024 / MIB
