"""What the tests work with: recordings, good and bad, and a run in this process, without Spark."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import soundfile
from audioloom_audio import ExtractionSettings
from audioloom_featurizer.commands.run import run as run_command
from audioloom_featurizer.commands.scan import scan as scan_command
from audioloom_featurizer.extraction.members import Members
from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.extraction.recording import Extracted, Refused, extract_recording
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised
from audioloom_featurizer.settings import RunSettings, ScanSettings
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_manifest.receipts import Receipt
from audioloom_stage.result import Result
from audioloom_storage import Location

PATTERN = "(?P<label>[^/]+)/(?P<group>[^-]+)-.*"
RATE = 8000
LIMITS = WorkerLimits(memory=400 << 20, seconds=10)


def write_wav(path: Path, seconds: float = 0.5, *, seed: int = 0, subtype: str = "PCM_16") -> Path:
    """A recording of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.random.default_rng(seed).normal(0, 0.1, int(RATE * seconds))
    soundfile.write(path, samples, RATE, subtype=subtype)
    return path


def header_only(path: Path) -> Path:
    """A WAV as they are found in the wild: a good header, and no samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fmt = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", 0)
    path.write_bytes(b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
    return path


def with_nan(path: Path, seconds: float = 12.0) -> Path:
    """A float recording whose last sample is no number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.zeros(int(RATE * seconds), np.float32)
    samples[::7] = 0.1
    samples[-1] = np.nan
    soundfile.write(path, samples, RATE, subtype="FLOAT")
    return path


def in_process(units: Sequence[Unit], task: Callable[[Unit], Receipt]) -> Iterator[Receipt]:
    """Do the units one after another, here."""
    return (task(unit) for unit in units)


def scan(source: Path, root: Path, **more: object) -> Result:
    given = {"pattern": PATTERN, **more}
    return scan_command(ScanSettings(source=str(source), root=str(root), **given))


def run(recordings: str, runner: object = in_process, **more: object) -> Result:
    given = {"unit_recordings": 3, "window_seconds": 1.0, **more}
    return run_command(RunSettings(recordings=recordings, **given), runner)


def features_of(source: Path, root: Path, **more: object) -> Opened:
    """Scan and run, and open what was committed."""
    return read_manifest(str(run(str(scan(source, root).text), **more).text), "features")


def two_units(folder: Path) -> Path:
    """Three recordings, one of them bad, for `in_two_units`."""
    write_wav(folder / "a" / "x-1.wav", seed=1)
    write_wav(folder / "b" / "y-1.wav", seed=2)
    header_only(folder / "b" / "z-1.wav")
    return folder


def in_two_units(source: Path, root: Path) -> Opened:
    """Features of `two_units`, committed."""
    return features_of(source, root, unit_recordings=2, error_budget="1")


def checksums(opened: Opened) -> dict[str, str]:
    return {entry.path: entry.sha256 for entry in opened.files()}


def paths_of(opened: Opened, role: str) -> list[str]:
    """The recordings that a features run holds in a role, each once."""
    places = [Path(opened.folder.path, entry.path) for entry in opened.files(role)]
    found = [pq.read_table(place, columns=["path"]).column("path") for place in places]
    return sorted({path for column in found for path in column.to_pylist()})


@contextmanager
def extracted(
    source: Location, row: dict[str, Any], settings: ExtractionSettings, *, whole: bool = True
) -> Iterator[Extracted | Refused]:
    """Extract a recording as a unit of its own."""
    with (
        closing(Members(source, [row])) as members,
        extract_recording(members, row, settings, whole=whole) as outcome,
    ):
        yield outcome


def done(task: Any, unit: Any, limits: WorkerLimits = LIMITS) -> Any:
    answer = run_supervised(pickle.dumps(task), limits, pickle.dumps(unit))
    return pickle.loads(answer)  # noqa: S301 - our own


def supervised(units: Sequence[Unit], task: Any, limits: WorkerLimits = LIMITS) -> Iterator[Any]:
    """Do the units in the child of this process."""
    return (done(task, unit, limits) for unit in units)
