"""The command line: `python -m audioloom_voices demo|debian OUT`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from audioloom_voices.debian import command as debian
from audioloom_voices.demo import command as demo
from audioloom_voices.errors import VoicesError

_EXIT_CODES = """\
exit codes:
  0 done, 2 usage, 65 a package is not what was signed or expected, 66 apt's sources have no such
  package, 69 the registry does not answer or the synthesiser does not work here, 73 OUT holds
  something else or cannot be made, 77 OUT or the cache may not be written, 78 apt-get or dpkg-deb
  is missing, 130 interrupted
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m audioloom_voices",
        description="Make or fetch recordings to try audioloom with.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for name, command in (("demo", demo), ("debian", debian)):
        one = commands.add_parser(
            name,
            help=command.HELP,
            description=command.ABOUT,
            epilog=command.LAYOUT + _EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.add_argument("out", metavar="OUT", type=Path, help="folder for the recordings")
        command.add_options(one)
        one.set_defaults(perform=command.perform, pattern=command.PATTERN)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the folder goes to stdout, all else to stderr; return the exit code."""
    settings = _parser().parse_args(argv)
    began = time.monotonic()
    try:
        summary = settings.perform(settings)
    except VoicesError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}; choose another folder\n")
        return 77 if isinstance(error, PermissionError) else 73
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was made\n")
        return 130
    sys.stderr.write(
        f"{summary} in {time.monotonic() - began:.1f} s\n"
        f"label and group from the path: {settings.pattern}\n"
    )
    sys.stdout.write(f"{settings.out}\n")
    return 0
