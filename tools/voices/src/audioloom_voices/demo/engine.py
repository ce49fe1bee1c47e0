"""eSpeak NG by ctypes: text to 16-bit samples.

The engine keeps state from one utterance to the next, and with it even the length of a repeated
sentence changes. Whoever wants files that do not depend on their order calls `Engine.say` in a
process forked for it (`isolated`) and never in this one. The breath of some voices is noise
seeded with the time of day; `say` seeds it anew.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

import espeakng_loader

from audioloom_voices.demo.recipe import Utterance
from audioloom_voices.errors import EngineMissing, SynthesisFailed

# From speak_lib.h.
_SYNCHRONOUS: Final = 2
_DONT_EXIT: Final = 0x8000
_RATE, _VOLUME, _PITCH, _WORD_GAP = 1, 2, 3, 7
_UTF8_SSML_END_PAUSE: Final = 0x1 | 0x10 | 0x1000
_NOISE_SEED: Final = 1
_ON_SAMPLES: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Engine:
    """The loaded `library`; `sample_rate` in Hz."""

    def __init__(self) -> None:
        """Load the library and its data from the wheel.

        Raises:
            EngineMissing: either is not there or does not load.
        """
        try:
            data = espeakng_loader.get_data_path()
            self.library = ctypes.CDLL(espeakng_loader.get_library_path())
        except (OSError, RuntimeError) as error:
            raise EngineMissing(
                f"the synthesiser does not load: {error}. "
                "Expected the wheel espeakng-loader for this platform; "
                "install it again with `uv sync --project tools/voices --reinstall`"
            ) from error
        if not (Path(data) / "phontab").is_file():  # the library itself would end the process
            raise EngineMissing(
                f"expected the synthesiser's data at {data}, found no phontab there"
            )
        self.sample_rate: int = self.library.espeak_Initialize(
            _SYNCHRONOUS, 0, os.fsencode(data), _DONT_EXIT
        )
        if self.sample_rate <= 0:
            raise EngineMissing(f"the synthesiser does not start with its data at {data}")

    def say(self, utterance: Utterance) -> bytes:
        """Return the utterance as little-endian 16-bit mono samples.

        Raises:
            SynthesisFailed: the engine refuses the voice, or has no sound for the text.
        """
        pieces: list[bytes] = []

        def keep(samples: int | None, count: int, _events: int | None) -> int:
            if samples and count > 0:
                pieces.append(ctypes.string_at(samples, 2 * count))
            return 0

        library = self.library
        callback = _ON_SAMPLES(keep)  # named, or it is collected while the engine calls it
        library.espeak_SetSynthCallback(callback)
        library.espeak_ng_SetRandSeed(ctypes.c_long(_NOISE_SEED))
        library.srand(_NOISE_SEED)  # libc's: the engine draws from both
        # Parameters come after the voice: choosing a voice sets them back.
        if library.espeak_SetVoiceByName(utterance.voice.encode()) != 0:
            raise SynthesisFailed(f"the synthesiser has no voice {utterance.voice!r}")
        library.espeak_SetParameter(_RATE, utterance.rate, 0)
        library.espeak_SetParameter(_PITCH, utterance.pitch, 0)
        library.espeak_SetParameter(_VOLUME, utterance.amplitude, 0)
        library.espeak_SetParameter(_WORD_GAP, utterance.gap, 0)
        text = (
            f'<speak><prosody range="{utterance.pitch_range}">{utterance.text}</prosody></speak>'
        ).encode()
        failed = library.espeak_Synth(
            text, ctypes.c_size_t(len(text) + 1), 0, 0, 0, _UTF8_SSML_END_PAUSE, None, None
        )
        if failed or not pieces:
            raise SynthesisFailed(
                f"the synthesiser made no sound of {utterance.text!r} (its code {failed})"
            )
        return b"".join(pieces)
