"""Which utterances make up the demo, and how each is to be said. Decides; makes no sound."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from audioloom_voices.demo.sentences import SENTENCES


@dataclass(frozen=True)
class Prosody:
    """How a class speaks: words a minute, pitch 0-99, SSML pitch range, amplitude 0-200.

    `gap` is the pause between words in units of 10 ms; `mark` ends the sentence.
    """

    rate: int
    pitch: int
    pitch_range: str
    amplitude: int
    gap: int
    mark: str


@dataclass(frozen=True)
class Jitter:
    """Standard deviations of the noise on each file: pitch in steps, the others as a share."""

    pitch: float
    rate: float
    amplitude: float


@dataclass(frozen=True)
class Utterance:
    """One recording: what is said, in whose voice and how."""

    label: str
    sentence: int
    voice: str
    text: str
    rate: int
    pitch: int
    pitch_range: str
    amplitude: int
    gap: int

    @property
    def path(self) -> str:
        """Where it lies in the output folder: `happy/07-en-us-m1.wav`.

        The engine's `+` before a variant becomes `-`: in a URL a plus can be read as a space.
        """
        return f"{self.label}/{self.sentence:02d}-{self.voice.replace('+', '-')}.wav"


CLASSES: Final = {
    "neutral": Prosody(170, 50, "medium", 100, 0, "."),
    "calm": Prosody(140, 45, "low", 85, 2, "."),
    "happy": Prosody(190, 65, "high", 115, 0, "!"),
    "sad": Prosody(125, 35, "x-low", 75, 3, "."),
    "angry": Prosody(205, 58, "x-high", 165, 0, "!"),
    "fearful": Prosody(215, 78, "high", 95, 0, "?"),
    "disgust": Prosody(130, 30, "high", 125, 2, "."),
    "surprised": Prosody(180, 80, "x-high", 130, 1, "?"),
}

DIFFICULTIES: Final = {
    "easy": Jitter(pitch=3, rate=0.03, amplitude=0.05),
    "hard": Jitter(pitch=14, rate=0.15, amplitude=0.30),
}

# Only variants of en-us and en: those of en-gb are ignored by the engine without an error.
_FIVE: Final = ("en-us+m1", "en-us+m3", "en+m7", "en-us+f2", "en+f4")
_VARIANTS: Final = ("m1", "f1", "m2", "f2", "m3", "f3", "m4", "f4", "m5", "f5", "m6", "m7")
_TWELVE: Final = tuple(f"en-us+{variant}" for variant in _VARIANTS)
MOST_VOICES: Final = len(_TWELVE)


def choose_voices(count: int) -> tuple[str, ...]:
    """Return `count` of the voices, 1 to 12: up to five from one set, more from another.

    Raises:
        ValueError: there are not that many.
    """
    if not 1 <= count <= MOST_VOICES:
        raise ValueError(f"expected 1 to {MOST_VOICES} voices, found {count}")
    return (_FIVE if count <= len(_FIVE) else _TWELVE)[:count]


def utterances(
    voices: tuple[str, ...], sentences: int, difficulty: str = "easy", seed: int = 0
) -> Iterator[Utterance]:
    """Yield the demo's recordings, class by class.

    The voices take turns within each class, so neither text nor voice says anything about the
    label. The jitter of a recording depends on the seed, its class and its
    sentence alone: a smaller demo is a part of the larger one.

    Raises:
        ValueError: more sentences than there are, or none.
    """
    if not 1 <= sentences <= len(SENTENCES):
        raise ValueError(f"expected 1 to {len(SENTENCES)} sentences, found {sentences}")
    jitter = DIFFICULTIES[difficulty]
    for label, prosody in CLASSES.items():
        for sentence, text in enumerate(SENTENCES[:sentences]):
            # A str seed goes through SHA-512, so it does not hang on PYTHONHASHSEED.
            noise = random.Random(f"{seed}/{label}/{sentence}")  # noqa: S311 - a seed, no secret
            pitch = prosody.pitch + noise.gauss(0, jitter.pitch)
            rate = prosody.rate * (1 + noise.gauss(0, jitter.rate))
            amplitude = prosody.amplitude * (1 + noise.gauss(0, jitter.amplitude))
            yield Utterance(
                label=label,
                sentence=sentence,
                voice=_whose_turn(voices, label, sentence),
                text=text + prosody.mark,
                rate=_within(rate, 80, 450),
                pitch=_within(pitch, 0, 99),
                pitch_range=prosody.pitch_range,
                amplitude=_within(amplitude, 10, 200),  # 0 would be a silent file
                gap=prosody.gap,
            )


def _whose_turn(voices: tuple[str, ...], label: str, sentence: int) -> str:
    """Each voice once in a round, in another order each round.

    A fixed order would fall in step with splits that count sentences off: every fifth sentence
    held out would hold out one voice, or pairs of class and voice that training never had.
    """
    turn_round, turn = divmod(sentence, len(voices))
    order = random.Random(f"voices/{label}/{turn_round}")  # noqa: S311 - a seed, no secret
    return order.sample(voices, len(voices))[turn]


def _within(value: float, least: int, most: int) -> int:
    return min(max(round(value), least), most)
