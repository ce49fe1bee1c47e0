"""The command `debian`: its options, and what it prints."""

from __future__ import annotations

import argparse
from pathlib import Path

from audioloom_voices.debian.fetch import default_cache
from audioloom_voices.debian.lay_out import lay_out
from audioloom_voices.debian.packages import DEFAULT_LANGUAGES, PACKAGES

PATTERN = r"(?P<label>[a-z]{2})/(?P<group>.+)\.wav"

HELP = "fetch real telephone prompts from Debian's packages"

ABOUT = """\
Fetch real recordings to try audioloom with: telephone prompts from Debian's packages
asterisk-core-sounds-*-wav (8 kHz mono 16-bit WAV, one speaker a language, 18 to 24 MB each).

The packages are downloaded and verified by apt-get in a folder of its own and unpacked by
dpkg-deb: nothing is installed, nothing on the machine is altered, root is not needed.
"""

LAYOUT = f"""\
layout:
  OUT/<language>/<prompt>.wav, e.g. OUT/fr/digits/0.wav; licences in OUT/.audioloom-debian-voices
  ru/is.wav has a header and no samples, as shipped: a pipeline has to cope with it

label and group from the path below OUT (group = prompt, which most languages share):
  {PATTERN}
A language is one speaker in one studio: high scores are leakage, not language recognition.

"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--languages",
        type=_languages,
        default=DEFAULT_LANGUAGES,
        metavar="L,L",
        help=f"of {','.join(PACKAGES)} (default: {','.join(DEFAULT_LANGUAGES)}); "
        "en and es are one speaker",
    )
    parser.add_argument(
        "--sources", type=_file, metavar="FILE.list", help="apt sources to use, not the machine's"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="where downloads are kept (default: $XDG_CACHE_HOME/audioloom/debian-voices)",
    )


def perform(settings: argparse.Namespace) -> str:
    """Fetch the recordings; a summary in words."""
    laid = lay_out(
        settings.out,
        cache=(settings.cache or default_cache()).absolute(),
        languages=settings.languages,
        sources=settings.sources,
    )
    by_language = ", ".join(f"{count} {language}" for language, count in laid.recordings.items())
    return f"{sum(laid.recordings.values())} recordings ({by_language})"


def _languages(text: str) -> tuple[str, ...]:
    languages = tuple(dict.fromkeys(text.split(",")))
    unknown = [language for language in languages if language not in PACKAGES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"expected some of {','.join(PACKAGES)}, found {','.join(unknown)!r}"
        )
    return languages


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"expected a file, found none at {path}")
    return path
