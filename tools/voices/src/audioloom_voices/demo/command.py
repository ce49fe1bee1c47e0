"""The command `demo`: its options, and what it prints."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from audioloom_voices.demo.make import make
from audioloom_voices.demo.recipe import CLASSES, DIFFICULTIES, MOST_VOICES
from audioloom_voices.demo.sentences import SENTENCES

PATTERN = r"(?P<label>[a-z]+)/(?P<group>[0-9]{2})-[a-z0-9-]+\.wav"
VOICE_PATTERN = r"(?P<label>[a-z]+)/[0-9]{2}-(?P<group>[a-z0-9-]+)\.wav"

HELP = "make a small, balanced set of synthetic speech"

ABOUT = f"""\
Make a small, balanced set of synthetic recordings to try audioloom with: {len(CLASSES)} prosody
classes say the same sentences in the same voices (22.05 kHz mono 16-bit WAV, about 3 s each).

A good score on them proves that a pipeline runs, not that an emotion was learnt: loudness and
length alone tell the classes apart in most cases.
"""

LAYOUT = f"""\
layout:
  OUT/<class>/<sentence 00-39>-<voice>.wav, e.g. OUT/happy/07-en-us-f2.wav
  classes: {", ".join(CLASSES)}

label and group from the path below OUT (group = sentence, so that test sentences are unseen):
  {PATTERN}
to test on unseen voices instead:
  {VOICE_PATTERN}

The same settings give the same bytes on one machine, whatever the order or the number of files.
A run into a folder made by this command replaces its files.

"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--voices",
        type=_whole(MOST_VOICES),
        default=5,
        metavar="N",
        help=f"how many voices take turns, 1 to {MOST_VOICES} (default: 5)",
    )
    parser.add_argument(
        "--sentences",
        type=_whole(len(SENTENCES)),
        default=len(SENTENCES),
        metavar="N",
        help=f"how many sentences each class says, 1 to {len(SENTENCES)} (default: all)",
    )
    parser.add_argument(
        "--difficulty",
        choices=sorted(DIFFICULTIES),
        default="easy",
        help="how far recordings of one class differ from each other (default: easy)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of those differences (default: 0)"
    )


def perform(settings: argparse.Namespace) -> str:
    """Make the recordings; a summary in words."""
    made = make(
        settings.out,
        voices=settings.voices,
        sentences=settings.sentences,
        difficulty=settings.difficulty,
        seed=settings.seed,
    )
    minutes = made.audio_seconds / 60
    return f"{made.files} recordings, {minutes:.1f} min of audio, {len(made.voices)} voices,"


def _whole(most: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected 1 to {most}, found {text!r}")
        return int(text)

    return whole
