"""Run the programs that packing needs; their last words tell what went wrong."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

_MOST_SAID = 1500


def output_of(
    command: Sequence[str | Path],
    summary: str,
    *,
    where: str | Path = "",
    expected: str = "",
    hint: str = "",
    given: str | None = None,
) -> str:
    """Return what a program prints; *given* is its standard input.

    A program that is missing or fails is a BadConfiguration with the other arguments.
    """
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", None) or error).strip()[-_MOST_SAID:]
        raise BadConfiguration(
            summary, where=where, expected=expected, found=said, hint=hint
        ) from error
    return done.stdout
