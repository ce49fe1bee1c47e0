"""Nothing that grows with the rows is held in the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sharder_features import commit_features, feature_of, parquet_of_table

ROWS, FILES = 10_000_000, 400
MOST_BYTES = 1 << 30
TINY = feature_of((1, 1))

PROGRAM = """
import resource, sys
from audioloom_sharder.cli import main
code = main(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
sys.exit(code)
"""


def _tables() -> Iterator[pa.Table]:
    """Rows of made-up calls: ten windows a recording, a hundred recordings a speaker."""
    each = ROWS // FILES
    for number in range(FILES):
        rows = np.arange(number * each, (number + 1) * each)
        recordings = rows // 10
        names = pa.array([f"calls/{one:08d}.wav" for one in recordings.tolist()])
        groups = pa.array([f"speaker {one}" for one in (recordings // 100).tolist()])
        labels = pa.array([f"class {one}" for one in (recordings // 100 % 20).tolist()])
        same = {
            "member": pa.nulls(each, pa.string()),
            "channel": np.full(each, -1, np.int8),
            "window": (rows % 10).astype(np.int32),
            "target": pa.nulls(each, pa.float64()),
            "start_seconds": (rows % 10) * 10.0,
            "valid_samples": np.full(each, 160_000, np.int32),
            "valid_frames": np.ones(each, np.int32),
            "flags": pa.array([[]] * each, pa.list_(pa.string())),
            "recording_sha256": pa.array([f"{one:064x}" for one in recordings.tolist()]),
            "recording_bytes": np.full(each, 320_044),
            "recording_seconds": np.full(each, 100.0),
            "recording_rate": np.full(each, 16_000, np.int32),
            "recording_channels": np.ones(each, np.int16),
            "recording_format": pa.array(["WAV PCM_16"] * each),
            "mfcc": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(4), each, [None, pa.py_buffer(rows.astype("<f4").tobytes())]
            ),
        }
        yield pa.table({"path": names, "label": labels, "group": groups, **same})


def _peak(*words: object) -> tuple[dict[str, object], int]:
    """The answer of a command, and the most memory that its own process held: not its children."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, words), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "AUDIOLOOM_LOG_FORMAT": "console"},
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout), int(done.stderr.split("peak ")[-1])


@pytest.mark.slow
def test_the_driver_of_ten_million_rows(tmp_path: Path) -> None:
    """The program itself stays below a gigabyte in `plan` and in `run`; Spark's JVM is apart."""
    files = (parquet_of_table(table, TINY, 100_000) for table in _tables())
    features = commit_features(tmp_path, files, TINY, windows=ROWS, recordings=ROWS // 10)
    for command in ("plan", "run"):
        answer, peak = _peak(command, features.folder, "--master", "local[2]")
        print(f"{command}: {peak / 2**20:.0f} MiB")  # noqa: T201  (shown with -rP)
        assert ROWS == sum(split["records"] for split in answer["splits"].values())  # type: ignore[attr-defined]
        assert peak <= MOST_BYTES
