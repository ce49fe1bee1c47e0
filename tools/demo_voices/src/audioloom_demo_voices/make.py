"""Makes the folder of recordings: claim it, try the voices, say everything, write it down."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import wave
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from audioloom_demo_voices.engine import Engine
from audioloom_demo_voices.errors import FolderTaken, VoicesAlike
from audioloom_demo_voices.isolated import call_each
from audioloom_demo_voices.recipe import CLASSES, choose_voices, utterances

MARKER: Final = ".audioloom-demo-voices.json"
"""Says that the folder is ours and how it was made; its dot keeps it out of listings of data."""

_OURS: Final = re.compile(r"[0-9]{2}-[a-z0-9-]+\.wav")


@dataclass(frozen=True)
class Made:
    """What lies in the folder now."""

    folder: Path
    files: int
    audio_seconds: float
    voices: tuple[str, ...]


def make(
    folder: Path,
    *,
    voices: int = 5,
    sentences: int = 40,
    difficulty: str = "easy",
    seed: int = 0,
) -> Made:
    """Make the demo recordings in `folder`, as `<class>/<sentence>-<voice>.wav`.

    What an earlier run made there is replaced; other files there are left alone.

    Raises:
        EngineMissing, SynthesisFailed, VoicesAlike: before anything in the folder is touched.
        FolderTaken: the folder holds something else.
        ValueError: there are not as many voices or sentences.
    """
    chosen = choose_voices(voices)
    wanted = list(utterances(chosen, sentences, difficulty, seed))
    engine = Engine()
    at_once = 1 + len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
    refuse_foreign(folder)
    check_voices(engine, chosen)
    settings = {"voices": chosen, "sentences": sentences, "difficulty": difficulty, "seed": seed}
    claim(folder, settings)
    samples = 0
    for utterance, spoken in zip(wanted, call_each(engine.say, wanted, at_once), strict=True):
        (folder / utterance.path).write_bytes(as_wav(spoken, engine.sample_rate))
        samples += len(spoken) // 2
    return Made(folder, len(wanted), samples / engine.sample_rate, chosen)


def check_voices(engine: Engine, voices: Iterable[str]) -> None:
    """Say one sentence in each voice and make sure that all are really different.

    The plain voice of each language is said as well: it is what an ignored variant gives.

    Raises:
        VoicesAlike: two of them gave the same bytes.
    """
    names = list(dict.fromkeys([*(voice.partition("+")[0] for voice in voices), *voices]))
    plain = next(utterances(("en",), sentences=1))
    said = [replace(plain, voice=name) for name in names]
    first_with: dict[str, str] = {}
    for name, spoken in zip(names, call_each(engine.say, said, at_once=2), strict=True):
        earlier = first_with.setdefault(hashlib.sha256(spoken).hexdigest(), name)
        if earlier != name:
            raise VoicesAlike(
                f"expected voices that differ, found that {name!r} and {earlier!r} say a sentence "
                "with equal bytes: this synthesiser silently ignores a variant it does not know. "
                "Install the tested version of espeakng-loader (see uv.lock)"
            )


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds something, unless this program made it.

    Raises:
        FolderTaken: it does, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderTaken(f"expected a folder at {folder}, found a file; choose another place")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise FolderTaken(
            f"expected {folder} to be absent, empty or made by this program, "
            f"found other files and no {MARKER}; choose another folder or empty this one"
        )


def claim(folder: Path, settings: Mapping[str, object]) -> None:
    """Leave the marker and the class folders, and remove what an earlier run said."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"made_by": "audioloom-demo-voices", **settings}, indent=2)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")
    for label in CLASSES:
        (folder / label).mkdir(exist_ok=True)
        for old in (folder / label).iterdir():
            if _OURS.fullmatch(old.name):
                old.unlink()


def as_wav(samples: bytes, sample_rate: int) -> bytes:
    """Return 16-bit mono samples with a WAV header before them."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples)
    return buffer.getvalue()
