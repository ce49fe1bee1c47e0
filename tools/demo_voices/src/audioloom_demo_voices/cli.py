"""The command line: `python -m audioloom_demo_voices OUT`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from audioloom_demo_voices.errors import DemoVoicesError
from audioloom_demo_voices.make import make
from audioloom_demo_voices.recipe import CLASSES, DIFFICULTIES, MOST_VOICES
from audioloom_demo_voices.sentences import SENTENCES

PATTERN = r"(?P<label>[a-z]+)/(?P<group>[0-9]{2})-[a-z0-9-]+\.wav"
VOICE_PATTERN = r"(?P<label>[a-z]+)/[0-9]{2}-(?P<group>[a-z0-9-]+)\.wav"

_ABOUT = f"""\
Make a small, balanced set of synthetic recordings to try audioloom with: {len(CLASSES)} prosody
classes say the same sentences in the same voices (22.05 kHz mono 16-bit WAV, about 3 s each).

A good score on them proves that a pipeline runs, not that an emotion was learnt: loudness and
length alone tell the classes apart in most cases.
"""

_LAYOUT = f"""\
layout:
  OUT/<class>/<sentence 00-39>-<voice>.wav, e.g. OUT/happy/07-en-us-f2.wav
  classes: {", ".join(CLASSES)}

label and group from the path below OUT (group = sentence, so that test sentences are unseen):
  {PATTERN}
to test on unseen voices instead:
  {VOICE_PATTERN}

exit codes:
  0 done, 2 usage, 69 the synthesiser does not work here, 73 OUT holds something else or
  cannot be made, 77 OUT may not be written, 130 interrupted

The same settings give the same bytes on one machine, whatever the order or the number of files.
A run into a folder made by this program replaces its files.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m audioloom_demo_voices",
        description=_ABOUT,
        epilog=_LAYOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder for the recordings")
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
    return parser


def _whole(most: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected 1 to {most}, found {text!r}")
        return int(text)

    return whole


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the folder goes to stdout, all else to stderr; return the exit code."""
    settings = _parser().parse_args(argv)
    began = time.monotonic()
    try:
        made = make(
            settings.out,
            voices=settings.voices,
            sentences=settings.sentences,
            difficulty=settings.difficulty,
            seed=settings.seed,
        )
    except DemoVoicesError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}; choose another folder\n")
        return 77 if isinstance(error, PermissionError) else 73
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was made\n")
        return 130
    sys.stderr.write(
        f"{made.files} recordings, {made.audio_seconds / 60:.1f} min of audio, "
        f"{len(made.voices)} voices, in {time.monotonic() - began:.1f} s\n"
        f"label and group from the path: {PATTERN}\n"
    )
    sys.stdout.write(f"{made.folder}\n")
    return 0
