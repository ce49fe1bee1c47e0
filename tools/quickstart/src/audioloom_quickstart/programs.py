"""Run the installed stages by their command lines, and time them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audioloom_storage import locate, read_bytes

VARIABLE = "AUDIOLOOM_PROGRAMS"
MOST_BYTES = 1 << 20


class StepFailedError(Exception):
    """A step ended with another exit code than 0, or what came out is not as it must be."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


@dataclass
class Programs:
    """Where each program is installed, and how long each step took."""

    paths: Mapping[str, str]
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, step: str, program: str, *arguments: str) -> str:
        """Run a program, show its command and its messages, and answer its stdout.

        Args:
            step: what its time is counted under.
            program: one that is installed, or else one of the PATH.
            arguments: its command line.

        Raises:
            StepFailedError: naming the command and its exit code.
        """
        command = [self.paths.get(program, program), *arguments]
        name = Path(command[0]).name if not command[0].endswith("python") else program
        shown = shlex.join([name, *arguments])
        print(f"\n$ {shown}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - begin
        if done.returncode:
            raise StepFailedError(
                f"{shown} ended with exit code {done.returncode}", done.returncode
            )
        return done.stdout.strip()


def programs_from_environment() -> Programs:
    """The programs that the nox session installed."""
    text = os.environ.get(VARIABLE)
    if not text:
        raise StepFailedError(
            f"{VARIABLE} is not set: start this with `uv run noxfile.py -s quickstart`"
        )
    return Programs(json.loads(text))


def read_manifest(location: str) -> dict[str, Any]:
    """A manifest that a stage answered with, as plain JSON: the contract is all we know of it."""
    value = json.loads(read_bytes(locate(location), limit=MOST_BYTES))
    if not isinstance(value, dict):
        raise TypeError(f"{location}: expected a JSON object, found {type(value).__name__}")
    return value
