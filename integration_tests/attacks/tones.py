"""Recordings to attack with: a second of a tone each."""

from __future__ import annotations

import math
import struct
import wave
from pathlib import Path


def record(path: Path) -> None:
    """Write one, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        tone = (math.sin(500 * at / 8000 * math.tau) for at in range(8000))
        file.writeframes(b"".join(struct.pack("<h", int(9000 * each)) for each in tone))
