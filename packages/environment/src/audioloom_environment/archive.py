"""Write an environment's archive: sorted, without times or owners, and checked against its digest.

One environment gives the same bytes on one release of this package and of its libraries. Its
modules are compiled once, instead of in every container at the first import. The bytecode is no
part of the digest, which covers its sources.
"""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from audioloom_stage.errors import TryAgain
from isal import igzip

from audioloom_environment.contents import Environment
from audioloom_environment.files import Member, sha256_of
from audioloom_environment.programs import output_of
from audioloom_environment.relocation import relocate

_LEVEL = 1
_PART = 256
_PROGRAM = Path(__file__).with_name("_compile.py")


def pack(environment: Environment, target: BinaryIO) -> None:
    """Write the archive (`.tar.gz`, files at the top: `bin/python`, `lib/…`) to an open file.

    Raises:
        TryAgain: a file is not what the digest says; what was written must not be used.
        BadConfiguration: the interpreter's libraries cannot be moved.
    """
    with (
        _patched(environment) as patched,
        _compiled(environment) as bytecode,
        _zipped(target) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        members = {member.path: member for member in environment.members}
        made = patched | bytecode
        for path in sorted(members.keys() | bytecode.keys()):
            info = tarfile.TarInfo(path)
            if path in members:
                info.mode = members[path].mode
            if path not in made:
                add_member(tar, info, members[path])
                continue
            info.size = made[path].stat().st_size
            with made[path].open("rb") as file:
                tar.addfile(info, file)


def _zipped(target: BinaryIO) -> BinaryIO:
    """Compress several times as fast as zlib at its lowest level, and no larger, in this thread."""
    file = igzip.IGzipFile("", "wb", _LEVEL, target, mtime=0)  # type: ignore[no-untyped-call]
    return cast("BinaryIO", file)


def add_member(tar: tarfile.TarFile, info: tarfile.TarInfo, member: Member) -> None:
    """Add a file or a link to an archive; TryAgain if it is not what its digest says."""
    info.size = member.size
    if member.source is None:
        info.type, info.linkname = tarfile.SYMTYPE, member.link
        tar.addfile(info)
    elif isinstance(member.source, bytes):
        tar.addfile(info, io.BytesIO(member.source))
    else:
        try:
            with member.source.open("rb") as raw:
                file = _Hashing(raw)
                tar.addfile(info, cast("BinaryIO", file))
                longer = raw.read(1)
        except OSError as error:
            raise _changed(member.source, str(error)) from error
        if longer or file.sha256.hexdigest() != member.sha256:
            raise _changed(member.source, "other bytes")


class _Hashing:
    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.sha256 = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._raw.read(size)
        self.sha256.update(data)
        return data


def _changed(path: Path, found: str) -> TryAgain:
    return TryAgain(
        "A file changed while it was packed, or after it was installed.",
        where=path,
        expected="what its distribution's RECORD says, or what it was a moment ago",
        found=found,
        hint="Run this again; if it stays, reinstall the distribution.",
    )


@contextmanager
def _patched(environment: Environment) -> Iterator[dict[str, Path]]:
    """Copies of the interpreter's own binaries that find their libraries from any place."""
    chosen = [member for member in environment.members if member.patched]
    if not environment.interpreter.libraries:  # the interpreter is linked statically
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="audioloom-environment-") as scratch:
        copies = {}
        for number, member in enumerate(chosen):
            copy = Path(scratch, f"{number}-{Path(member.path).name}")
            source = cast("Path", member.source)
            shutil.copyfile(source, copy)
            if sha256_of(copy) != member.sha256:
                raise _changed(source, "other bytes")
            copies[member.path] = copy
        program = f"bin/{environment.interpreter.name}"
        relocate(copies[program], [copy for path, copy in copies.items() if path != program])
        yield copies


@contextmanager
def _compiled(environment: Environment) -> Iterator[dict[str, Path]]:
    """Yield the bytecode of an environment's modules: files by their path in the archive.

    Python writes a name by the number of its live references. So each part of the list has its own
    process, and the parts are always the same, as the bytecode is, byte for byte.
    """
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
