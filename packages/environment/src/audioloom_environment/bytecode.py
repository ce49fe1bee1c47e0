"""Compile an environment's modules once, instead of in every container at the first import.

The bytecode of one environment is always the same, byte for byte. Python writes a name by the
number of its live references, so each part of the list has its own process, and the parts are
always the same. The bytecode is no part of the digest, which covers its sources.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from audioloom_environment.contents import Environment
from audioloom_environment.programs import output_of

_PART = 256
_PROGRAM = Path(__file__).with_name("_compile.py")


@contextmanager
def compiled(environment: Environment) -> Iterator[dict[str, Path]]:
    """Yield the bytecode of an environment's modules: files by their path in the archive."""
    modules = [
        (str(member.source), member.path, member.sha256)
        for member in environment.members
        if member.path.startswith("lib/")
        and member.path.endswith(".py")
        and isinstance(member.source, Path)
        and member.source.is_file()
    ]
    python = environment.prefix / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="audioloom-environment-") as scratch:

        def compile_part(start: int) -> None:
            output_of(
                [python, "-I", "-S", "-B", "-W", "ignore", _PROGRAM, scratch],
                "The environment's modules cannot be compiled.",
                where=python,
                given=json.dumps(modules[start : start + _PART]),
            )

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_part, range(0, len(modules), _PART)))
        made = Path(scratch).rglob("*.pyc")
        yield {path.relative_to(scratch).as_posix(): path for path in made}
