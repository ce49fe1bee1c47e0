"""The command line: `python -m audioloom_debian_voices OUT`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from audioloom_debian_voices.errors import DebianVoicesError
from audioloom_debian_voices.fetch import default_cache
from audioloom_debian_voices.lay_out import lay_out
from audioloom_debian_voices.packages import DEFAULT_LANGUAGES, PACKAGES

PATTERN = r"(?P<label>[a-z]{2})/(?P<group>.+)\.wav"

_ABOUT = """\
Fetch real recordings to try audioloom with: telephone prompts from Debian's packages
asterisk-core-sounds-*-wav (8 kHz mono 16-bit WAV, one speaker a language, 18 to 24 MB each).

The packages are downloaded and verified by apt-get in a folder of its own and unpacked by
dpkg-deb: nothing is installed, nothing on the machine is altered, root is not needed.
"""

_LAYOUT = f"""\
layout:
  OUT/<language>/<prompt>.wav, e.g. OUT/fr/digits/0.wav; licences in OUT/.audioloom-debian-voices
  ru/is.wav has a header and no samples, as shipped: a pipeline has to cope with it

label and group from the path below OUT (group = prompt, which most languages share):
  {PATTERN}
A language is one speaker in one studio: high scores are leakage, not language recognition.

exit codes:
  0 done, 2 usage, 65 a package is not what was signed or expected, 66 apt's sources have no such
  package, 69 the registry does not answer, 73 OUT holds something else or cannot be made,
  77 OUT or the cache may not be written, 78 apt-get or dpkg-deb is missing, 130 interrupted
"""


def _languages(text: str) -> tuple[str, ...]:
    languages = tuple(dict.fromkeys(text.split(",")))
    unknown = [language for language in languages if language not in PACKAGES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"expected some of {','.join(PACKAGES)}, found {','.join(unknown)!r}"
        )
    return languages


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m audioloom_debian_voices",
        description=_ABOUT,
        epilog=_LAYOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder for the recordings")
    parser.add_argument(
        "--languages",
        type=_languages,
        default=DEFAULT_LANGUAGES,
        metavar="L,L",
        help=f"of {','.join(PACKAGES)} (default: {','.join(DEFAULT_LANGUAGES)}); "
        "en and es are one speaker",
    )
    parser.add_argument(
        "--sources", type=Path, metavar="FILE.list", help="apt sources to use, not the machine's"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="where downloads are kept (default: $XDG_CACHE_HOME/audioloom/debian-voices)",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the folder goes to stdout, all else to stderr; return the exit code."""
    parser = _parser()
    settings = parser.parse_args(argv)
    if settings.sources is not None and not settings.sources.is_file():
        parser.error(f"--sources: expected a file, found none at {settings.sources}")
    began = time.monotonic()
    try:
        laid = lay_out(
            settings.out,
            cache=(settings.cache or default_cache()).absolute(),
            languages=settings.languages,
            sources=settings.sources,
        )
    except DebianVoicesError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}\n")
        return 77 if isinstance(error, PermissionError) else 73
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was laid out\n")
        return 130
    by_language = ", ".join(f"{count} {language}" for language, count in laid.recordings.items())
    sys.stderr.write(
        f"{sum(laid.recordings.values())} recordings ({by_language}) "
        f"in {time.monotonic() - began:.1f} s\n"
        f"label and group from the path: {PATTERN}\n"
    )
    sys.stdout.write(f"{laid.folder}\n")
    return 0
