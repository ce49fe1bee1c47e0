"""Write recordings anew, each in another format, and some as they should not be.

`python rewrite.py FROM TO`, by an interpreter that has soundfile: the featurizer's own.
"""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import soundfile

FORMATS = {
    "pcm-u8.wav": ("WAV", "PCM_U8"),
    "pcm-24.wav": ("WAV", "PCM_24"),
    "pcm-32.wav": ("WAVEX", "PCM_32"),
    "float.wav": ("WAV", "FLOAT"),
    "double.wav": ("WAV", "DOUBLE"),
    "alaw.wav": ("WAV", "ALAW"),
    "mulaw.wav": ("WAV", "ULAW"),
    "ima.wav": ("WAV", "IMA_ADPCM"),
    "microsoft.wav": ("WAV", "MS_ADPCM"),
    "gsm.wav": ("WAV", "GSM610"),
    "large.rf64.wav": ("RF64", "PCM_16"),
    "large.w64": ("W64", "PCM_16"),
    "apple.aiff": ("AIFF", "PCM_16"),
    "sun.au": ("AU", "ULAW"),
    "core.caf": ("CAF", "PCM_16"),
    "free.flac": ("FLAC", "PCM_16"),
    "vorbis.ogg": ("OGG", "VORBIS"),
    "opus.ogg": ("OGG", "OPUS"),
    "layer3.mp3": ("MP3", "MPEG_LAYER_III"),
    "layer3-called.wav": ("MP3", "MPEG_LAYER_III"),
    "no-header.ul": ("RAW", "ULAW"),
}


def main(source: Path, target: Path) -> None:
    """Take the recordings in the order of their names: one for each format, one for each fault."""
    prompts = iter(sorted(source.rglob("*.wav")))
    target.mkdir()
    for name, (form, subtype) in FORMATS.items():
        samples, rate = soundfile.read(next(prompts), dtype="float32")
        soundfile.write(target / name, samples, rate, format=form, subtype=subtype)
    samples, rate = soundfile.read(next(prompts), dtype="float32")
    soundfile.write(target / "stereo.flac", np.stack([samples, samples[::-1]], axis=1), rate)
    shutil.copy(next(prompts), target / "as-it-is.wav")
    whole = next(prompts).read_bytes()
    (target / "cut.wav").write_bytes(whole[: len(whole) // 2])
    patched = whole[:40] + struct.pack("<I", 0) + whole[44:]
    (target / "never-patched.wav").write_bytes(patched)
    (target / "header-only.wav").write_bytes(patched[:44])
    (target / "page.wav").write_text("<!doctype html><title>404</title>")
    samples, rate = soundfile.read(next(prompts), dtype="float32")
    samples[len(samples) // 2] = np.nan
    soundfile.write(target / "not-a-number.wav", samples, rate, subtype="FLOAT")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
