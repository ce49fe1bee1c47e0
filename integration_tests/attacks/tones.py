"""Recordings to attack with: twelve tones of a second."""

from __future__ import annotations

import math
import struct
import wave
from collections.abc import Sequence
from pathlib import Path

PATTERN = "(?P<label>[^/]+)/(?P<group>[^-]+)-.*"


def write_tones(source: Path, labels: Sequence[str] = ("low", "high")) -> None:
    """Write one for each of twelve speakers, below a folder for each label in turn."""
    for number in range(12):
        path = source / labels[number % len(labels)] / f"s{number}-take.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            tone = (math.sin((500 + number) * at / 8000 * math.tau) for at in range(8000))
            file.writeframes(b"".join(struct.pack("<h", int(9000 * each)) for each in tone))
