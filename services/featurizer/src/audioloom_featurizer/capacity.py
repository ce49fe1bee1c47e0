"""Predict what a features run takes, from the counts of its inventory: no recording is opened."""

from collections import Counter
from collections.abc import Mapping
from math import ceil

from audioloom_audio import ExtractionSettings
from audioloom_manifest.envelope import Cost
from audioloom_manifest.kinds import RecordingsStats
from audioloom_manifest.publication import Plan
from audioloom_runs.capacity import (
    BLOCK_READS_BYTES,
    CLOSURE_BYTES,
    COPIES,
    DRIVER_BYTES,
    ENTRIES_OF_FOLDER,
    LISTED,
    Line,
    blocks_of,
    call_lines,
    calls,
)
from audioloom_runs.cost import predict_cost
from audioloom_runs.prediction import Expected, busiest

from audioloom_featurizer.extraction.partition import expected_windows, window_bytes
from audioloom_featurizer.extraction.unit import MOST_FILE_BYTES
from audioloom_featurizer.inventory.parquet import ROWS_PER_GROUP
from audioloom_featurizer.settings import DecodingSettings, PlanSettings

AUDIO_SECONDS = {"native": 3800, "numpy": 2600, "librosa": 550}
"""Seconds of audio that a core extracts in a second, from 44.1 kHz stereo: other PCM is faster."""
DIGESTED_BYTES = 880 * 10**6
"""Bytes of recordings that a core reads and digests in a second."""
FOOTER_BYTES = 820
"""Of a row group in the footer of the inventory, which each unit reads."""
RECORDING_SECONDS = 1.2e-3
"""Of a core, for a recording besides its bytes and its audio."""
START_SECONDS, UNIT_SECONDS = 18.0, 0.02
"""Of a run with Spark, and of the driver for each unit."""
DRIVER_BASE_BYTES = 180 << 20
DRIVER_UNIT_BYTES = 8000
"""The driver's own memory, and what it holds of a unit: its plan, its receipt, its files."""

_ADVICE = "fewer units: --unit-bytes, --unit-recordings"


def scan_calls(recordings: int, folders: int) -> Counter[str]:
    """The calls of a scan that walks *folders*."""
    return calls(lists=folders + recordings // LISTED)


def run_calls(recordings: int, units: int, files: int, size: int) -> Counter[str]:
    """The calls of `run`, for features files of *size* bytes together.

    A recording is opened, and looked at before and after. A unit opens the inventory, makes sure of
    the folder of receipts, and writes its features and its receipt.
    """
    return calls(
        opens=recordings + units,
        stats=2 * recordings,
        files=files + units,
        blocks=blocks_of(size, files) + units,
        folders=units,
    )


def verify_calls(units: int, files: int) -> Counter[str]:
    """The calls of `verify`: a file is digested, then read; a unit reads the inventory."""
    return calls(opens=2 * files + units, stats=files)


def core_hours(settings: ExtractionSettings, recordings: int, size: int) -> float:
    """The hours of one core for recordings of *size* bytes: reading, digests, features."""
    seconds = expected_windows(settings, recordings, size) * settings.window_seconds
    rate = AUDIO_SECONDS.get(settings.engine, AUDIO_SECONDS["librosa"])
    return (seconds / rate + size / DIGESTED_BYTES) / 3600


def cost_of(
    plan: Plan,
    settings: ExtractionSettings,
    where: DecodingSettings | PlanSettings,
    stats: RecordingsStats,
    units: int,
) -> dict[str, Cost]:
    """What `run` is predicted to take for recordings in so many units, *where* it works."""
    core = core_hours(settings, stats.recordings, stats.bytes) * 3600
    core += stats.recordings * RECORDING_SECONDS
    work = busiest(core, units, where.slots) + units * UNIT_SECONDS
    windows = expected_windows(settings, stats.recordings, stats.bytes)
    return predict_cost(
        plan,
        same=("feature", "engine", "windows", "channels", "headerless", "digest"),
        master=where.master,
        cores=where.slots,
        seconds=Expected(START_SECONDS, work),
        memory=Expected(DRIVER_BASE_BYTES, units * DRIVER_UNIT_BYTES),
        stored=Expected(0, windows * window_bytes(settings)),
    )


def driver_bytes(units: int) -> int:
    """The memory of the driver at the commit, when it holds most."""
    return DRIVER_BASE_BYTES + units * DRIVER_UNIT_BYTES


def lines_of(
    settings: ExtractionSettings,
    formats: Mapping[str, tuple[int, int]],
    *,
    units: int,
    closure: int,
) -> list[Line]:
    """What a run takes, line by line.

    The *formats* are recordings and bytes by suffix; *closure* is the bytes of the task that Spark
    sends to each unit.
    """
    recordings, read = map(sum, zip(*formats.values(), strict=True))
    windows = expected_windows(settings, recordings, read)
    size = windows * window_bytes(settings)
    files = units * ceil(size / units / MOST_FILE_BYTES)
    footers = units * ceil(recordings / ROWS_PER_GROUP) * FOOTER_BYTES
    counted = run_calls(recordings, units, files, size)
    return [
        Line("recordings", recordings),
        Line("windows", windows),
        Line("bytes of features", size, "B"),
        Line("units", units),
        Line("features files", files),
        *(
            Line(f"core-hours, {suffix or 'no suffix'}", core_hours(settings, *counts), "h")
            for suffix, counts in formats.items()
        ),
        Line("bytes read", read, "B"),
        Line(f"bytes written, {COPIES} copies", size * COPIES, "B"),
        *call_lines(counted, "several runs: scan parts of the source"),
        Line("largest folder", max(files, units), "", ENTRIES_OF_FOLDER, _ADVICE),
        Line("memory of the driver", driver_bytes(units), "B", DRIVER_BYTES, _ADVICE),
        Line("closure of a task", closure, "B", CLOSURE_BYTES, "shorter locations"),
        Line("read of the hottest block", footers, "B", BLOCK_READS_BYTES, _ADVICE),
    ]
