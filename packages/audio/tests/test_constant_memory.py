import subprocess
import sys
from pathlib import Path

import pytest

# Peak memory of one process that extracts every window of a file; imports and tables included.
# Not getrusage's: that figure survives exec, and would be the peak of the test run itself.
_SCRIPT = """
import re, sys
from pathlib import Path
from audioloom_audio import DigestingReader, ExtractionSettings, extract
with open(sys.argv[1], "rb") as file:
    reader = DigestingReader(file)
    extraction = extract(reader, ExtractionSettings(windows="all", channels="split"))
    count = sum(1 for _ in extraction)
    assert reader.finish()
    assert extraction.summary.complete
status = Path("/proc/self/status").read_text()
print(count, int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) // 1024)
"""
_HEADER = {
    16: "524946462400000057415645666d7420100000000100{channels}00{rate}00000000{align}001000",
    24: "524946462400000057415645666d7420100000000100{channels}00{rate}00000000{align}001800",
}


def _recording(path: Path, seconds: int, rate: int, bits: int) -> Path:
    """A stereo WAV of *seconds* of silence: a sparse file, so that hours cost no disk."""
    header = bytes.fromhex(
        _HEADER[bits].format(
            channels="02",
            rate=rate.to_bytes(4, "little").hex(),
            align=f"{bits // 4:02x}",
        )
    )
    size = seconds * rate * bits // 4
    with path.open("wb") as file:
        file.write(header + b"data" + size.to_bytes(4, "little"))
        file.truncate(len(header) + 8 + size)
    return path


def _peak(path: Path) -> tuple[int, int]:
    result = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(path)], check=True, capture_output=True, text=True
    )
    windows, megabytes = result.stdout.split()
    return int(windows), int(megabytes)


@pytest.mark.parametrize(
    ("rate", "bits"), [(8000, 16), pytest.param(44100, 24, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "seconds", [1200, pytest.param(7200, marks=pytest.mark.slow)], ids=["20 min", "2 h"]
)
def test_a_long_recording_costs_what_a_short_one_does(
    tmp_path: Path, seconds: int, rate: int, bits: int
) -> None:
    """By the operating system's account, decoded here and by libsndfile."""
    windows, short = _peak(_recording(tmp_path / "short.wav", 20, rate, bits))
    assert 4 == windows

    windows, long = _peak(_recording(tmp_path / "long.wav", seconds, rate, bits))

    assert seconds // 5 == windows
    assert long <= short + 8
    assert long < 200
