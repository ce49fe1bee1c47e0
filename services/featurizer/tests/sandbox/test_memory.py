"""Two hours of audio in the process that does the unit, by the operating system's account."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from audioloom_featurizer.commands.run import run
from audioloom_featurizer.commands.scan import scan
from audioloom_featurizer.sandbox import supervisor
from audioloom_featurizer.sandbox.supervisor import WorkerLimits
from audioloom_featurizer.settings import RunSettings, ScanSettings
from featurizer_containers import MAKERS
from featurizer_work import done

pytestmark = pytest.mark.slow

SECONDS = 7200
MOST_MB = 300
COPIES = 4

# Container, coding, ending, rate, channels.
FORMATS = {
    "pcm": ("WAV", "PCM_16", "wav", 44100, 2),
    "float": ("WAV", "FLOAT", "wav", 44100, 2),
    "mulaw": ("WAV", "ULAW", "wav", 8000, 2),
    "gsm": ("WAV", "GSM610", "wav", 8000, 1),
    "ima": ("WAV", "IMA_ADPCM", "wav", 8000, 1),
    "flac": ("FLAC", "PCM_16", "flac", 44100, 2),
    "vorbis": ("OGG", "VORBIS", "ogg", 16000, 1),
    "opus": ("OGG", "OPUS", "opus", 16000, 1),
    "mp3": ("MP3", "MPEG_LAYER_III", "mp3", 16000, 1),
    "raw": ("RAW", "ULAW", "raw", 8000, 1),
}


def recording(folder: Path, form: str, coding: str, ending: str, rate: int, channels: int) -> None:
    """Twenty seconds of pulses, over and over."""
    block = np.zeros((20 * rate, channels), np.float32)
    block[:: rate // 10] = 0.5
    folder.mkdir()
    where = folder / f"x.{ending}"
    with soundfile.SoundFile(where, "w", rate, channels, format=form, subtype=coding) as file:
        for _ in range(SECONDS // 20):
            file.write(block)


def peak(source: Path, root: Path, *, containers: bool = False, **wishes: Any) -> tuple[int, int]:
    """Windows, and the largest size in MB that the process ever had."""
    supervisor.kill_idle_workers()
    endings = ("wav" if containers else next(source.iterdir()).suffix,)
    listing = {"source": str(source), "root": str(root), "suffix": endings}
    scanned = scan(ScanSettings(**listing, containers=containers))
    seen = []

    def runner(units: Sequence[Any], task: Any) -> Iterator[Any]:
        for unit in units:
            yield done(task, unit, WorkerLimits())
            process = supervisor.idle_workers[0].pid
            status = Path(f"/proc/{process}/status").read_text()
            seen.append(int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024)

    given = {"windows": "all", "raw_format": "mulaw", **wishes}
    data = run(RunSettings(recordings=str(scanned.text), **given), runner).data
    return data["windows"], max(seen)


@pytest.mark.parametrize("name", FORMATS)
def test_two_hours_take_little_memory(tmp_path: Path, name: str) -> None:
    """All windows, and again with levels of the whole recording and each channel by itself."""
    recording(tmp_path / "source", *FORMATS[name])
    windows, megabytes = peak(tmp_path / "source", tmp_path / "a")
    print(f"{name}: {megabytes} MB")  # noqa: T201 - the figure is worth keeping
    assert SECONDS // 10 <= windows <= SECONDS // 10 + 1
    assert megabytes <= MOST_MB
    if name in {"pcm", "mulaw"}:
        windows, megabytes = peak(
            tmp_path / "source", tmp_path / "b", level="recording", channels="split"
        )
        print(f"{name}, level=recording, channels=split: {megabytes} MB")  # noqa: T201 - as above
        assert 2 * SECONDS // 10 == windows
        assert megabytes <= MOST_MB


@pytest.mark.parametrize("name", ["calls.tar", "calls.tar.gz", "calls.zip"])
def test_two_hours_in_a_container_take_no_more(tmp_path: Path, name: str) -> None:
    """Unpacked through scratch disk, or read in place."""
    recording(tmp_path / "files", *FORMATS["mulaw"])
    contents = {"x.wav": (tmp_path / "files" / "x.wav").read_bytes()}
    (tmp_path / "source").mkdir()
    MAKERS[name](tmp_path / "source" / name, contents)
    del contents
    windows, megabytes = peak(tmp_path / "source", tmp_path / "a", containers=True)
    print(f"{name}: {megabytes} MB")  # noqa: T201 - the figure is worth keeping
    assert SECONDS // 10 == windows
    assert megabytes <= MOST_MB


@pytest.mark.parametrize("name", ["calls.avro", "calls.parquet"])
def test_a_row_of_two_hours_is_held_in_memory(tmp_path: Path, name: str) -> None:
    """Both libraries read a value whole: 115 MB, and copies of it."""
    recording(tmp_path / "files", *FORMATS["mulaw"])
    contents = {"x.wav": (tmp_path / "files" / "x.wav").read_bytes()}
    (tmp_path / "source").mkdir()
    MAKERS[name](tmp_path / "source" / name, contents)
    windows, megabytes = peak(tmp_path / "source", tmp_path / "a", containers=True)
    print(f"{name}: {megabytes} MB")  # noqa: T201 - as above
    assert SECONDS // 10 == windows
    assert megabytes <= MOST_MB + COPIES * len(contents["x.wav"]) // 10**6
