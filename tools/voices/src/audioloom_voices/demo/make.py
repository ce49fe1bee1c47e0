"""Makes the folder of recordings: try the voices, say everything, commit it whole."""

from __future__ import annotations

import hashlib
import io
import os
import wave
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from audioloom_voices.demo.engine import Engine
from audioloom_voices.demo.isolated import call_each
from audioloom_voices.demo.recipe import choose_voices, utterances
from audioloom_voices.errors import VoicesAlike
from audioloom_voices.output_folder import OutputFolder


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

    What an earlier run made there is replaced; other files there are left alone. A folder that
    was not there appears only when it is complete.

    Raises:
        EngineMissing, SynthesisFailed, VoicesAlike: the folder is as it was.
        FolderTaken: the folder holds something else.
        ValueError: there are not as many voices or sentences.
    """
    chosen = choose_voices(voices)
    wanted = list(utterances(chosen, sentences, difficulty, seed))
    engine = Engine()
    at_once = 1 + len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
    output = OutputFolder(folder, "demo")
    output.refuse_foreign()
    check_voices(engine, chosen)
    samples = 0
    with output.staging() as new:
        for utterance, spoken in zip(wanted, call_each(engine.say, wanted, at_once), strict=True):
            path = new / utterance.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(as_wav(spoken, engine.sample_rate))
            samples += len(spoken) // 2
        facts = {"voices": chosen, "sentences": sentences, "difficulty": difficulty, "seed": seed}
        output.commit(new, facts)
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


def as_wav(samples: bytes, sample_rate: int) -> bytes:
    """Return 16-bit mono samples with a WAV header before them."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples)
    return buffer.getvalue()
