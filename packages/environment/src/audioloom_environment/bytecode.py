"""Compile an environment's modules once, instead of in every container at the first import.

The bytecode of one environment is always the same, byte for byte. Python writes a name by the
number of its live references, so each part of the list has its own process, and the parts are
always the same. The bytecode is no part of the digest, which covers its sources.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from audioloom_environment.contents import Environment
from audioloom_environment.errors import PackingFailed
from audioloom_environment.files import Member

_PART = 256
_PROGRAM = Path(__file__).with_name("_compile.py")


@contextmanager
def compiled(environment: Environment) -> Iterator[dict[str, Path]]:
    """Yield the bytecode of an environment's modules: files by their path in the archive.

    Raises:
        PackingFailed: its interpreter does not compile.
    """
    with tempfile.TemporaryDirectory(prefix="audioloom-environment-") as scratch:
        modules = [
            (member, Path(scratch, str(number)))
            for number, member in enumerate(environment.members)
            if member.path.startswith("lib/") and member.path.endswith(".py")
        ]
        python = environment.prefix / "bin" / "python"
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            parts = [modules[at : at + _PART] for at in range(0, len(modules), _PART)]
            list(pool.map(lambda part: _compile(python, part), parts))
        tag = environment.interpreter.cache_tag
        yield {_cached(member.path, tag): path for member, path in modules if path.exists()}


def _compile(python: Path, part: Sequence[tuple[Member, Path]]) -> None:
    listed = [
        (str(member.source), member.path, member.sha256, str(target))
        for member, target in part
        if isinstance(member.source, Path) and member.source.is_file()
    ]
    command: list[str | Path] = [python, "-I", "-S", "-B", "-W", "ignore", _PROGRAM]
    try:
        subprocess.run(
            command, input=json.dumps(listed), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise PackingFailed(
            "The environment's modules cannot be compiled.",
            where=python,
            found=said.strip()[-300:],
        ) from error


def _cached(path: str, tag: str) -> str:
    place = PurePosixPath(path)
    return str(place.with_name("__pycache__") / f"{place.stem}.{tag}.pyc")
