"""The files that a run ships to its containers: two environments, folders, and HDFS tokens.

An archive of another maker is checked before nodes unpack it.
"""

import gzip
import re
import stat as kinds
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_environment.records import canonical
from audioloom_stage.errors import InputMissing, Usage
from audioloom_storage import Location, StorageError, exists, is_own, locate, open_read

from audioloom_yarn_launcher.errors import BadArchive
from audioloom_yarn_launcher.yarn.application_spec import PROGRAM
from audioloom_yarn_launcher.yarn.archive_members import first_fault

FOLDER = "environments"
_ARCHIVES = (".tar.gz", ".tgz", ".zip")  # that YARN can unpack
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[(?P<extras>[^\]]*)\])?")
_OF_AN_EXTRA = re.compile(r""";.*\bextra *== *['"]([^'"]+)""")
_LEFT_OUT = frozenset({"__pycache__", ".git", ".venv"})
_NAMED = re.compile(r"""(?<!\w)hdfs://([^\s/@,;"'()\[\]{}<>|\\]+)""", re.IGNORECASE)
PACKED_BY_US = re.compile(r"[0-9a-f]{64}(?:\.[0-9]+)?\.tar\.gz")
_CHUNK_BYTES = 1 << 20
_LONGEST_PATH = 4096  # of Linux: a node cannot make a link to a longer one

log = structlog.get_logger()


def ship_launcher(root: Location) -> str:
    """Ship this program's own environment to the root, if it is not there; return its URI."""
    from audioloom_environment.upload import ship  # noqa: PLC0415 - for clusters only

    needed = requirements_of(PROGRAM)
    rest = {canonical(each.metadata["Name"]) for each in distributions()} - needed
    return ship(sys.prefix, root / FOLDER, exclude=sorted(rest)).uri


def requirements_of(name: str) -> set[str]:
    """Return the canonical names of an installed distribution and all its requirements."""
    done: set[tuple[str, frozenset[str]]] = set()
    left = [name]
    while left:
        match = _REQUIREMENT.match(left.pop())
        if match is None:
            continue
        one = canonical(match["name"])
        extras = frozenset(each.strip() for each in (match["extras"] or "").split(",") if each)
        if (one, extras) in done:
            continue
        try:
            requirements = distribution(one).requires or []
        except PackageNotFoundError:
            continue  # for another platform
        done.add((one, extras))
        of = [(text, _OF_AN_EXTRA.search(text)) for text in requirements]
        left += [text for text, extra in of if extra is None or extra[1] in extras]
    return {one for one, _ in done}


def check_archive(text: str) -> str:
    """Check that the archive of an environment exists and can be unpacked; return its URI.

    InputMissing if not, or BadArchive from `check_members`.
    """
    location = locate(text)
    if not location.name.endswith(_ARCHIVES):
        raise InputMissing(
            "YARN cannot unpack that environment",
            where=location,
            expected="a .tar.gz, .tgz or .zip archive",
            found="a folder" if Path(text).is_dir() else location.name,
            hint=f"{PROGRAM} env pack, or conda-pack, makes one.",
        )
    if not exists(location):
        raise InputMissing("there is no such environment", where=location, expected="an archive")
    check_members(location)
    return location.uri


def pack_folder(folder: Path, target: Path) -> None:
    """Pack the content of a folder into a `.tar.gz`, without bytecode, `.git` and `.venv`.

    Usage if a link leads out of the folder, or a member is neither file nor folder.
    """
    with tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for path in sorted(folder.rglob("*")):
            within = path.relative_to(folder)
            if _LEFT_OUT.isdisjoint(within.parts):
                _check(path, folder)
                tar.add(path, str(within), recursive=False)


def _check(path: Path, folder: Path) -> None:
    if path.is_symlink():
        leads = path.parent / path.readlink()
        if path.readlink().is_absolute() or not leads.resolve().is_relative_to(folder.resolve()):
            raise Usage(
                "a link in a folder of --files leads out of it",
                where=path,
                expected="a relative link within the folder",
                found=str(path.readlink()),
            )
    elif not (path.is_dir() or path.is_file()):
        raise Usage(
            "a folder of --files holds what cannot be shipped",
            where=path,
            expected="files, folders and links within",
            found="a pipe, a socket or a device",
        )


def systems_of(given: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return each HDFS that is given or named in a text, as skein wants it; not the default one."""
    named = [match[1] for text in (*given, *texts) for match in _NAMED.finditer(text)]
    return tuple(sorted({f"hdfs://{each.rstrip(':.')}" for each in named} - {"hdfs://"}))


def check_members(archive: Location) -> None:
    """Refuse an archive that is damaged, or could write outside of its folder: BadArchive.

    An archive that this program packed, by its name, and that only this user can write is trusted
    unread: it may be large.
    """
    if PACKED_BY_US.fullmatch(archive.name) and is_own(archive):
        return
    log.info("looking into the archive", archive=str(archive))
    try:
        with open_read(archive) as file:
            fault = first_fault(_members(archive.name, file))
    except StorageError:
        raise
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        ValueError,
        zlib.error,
    ) as error:
        raise BadArchive(
            "the archive cannot be read to its end",
            where=archive,
            found=str(error) or type(error).__name__,
            hint="Make it again: env pack, or conda-pack.",
        ) from error
    if fault is not None:
        raise BadArchive(
            "the archive could write outside of its folder",
            where=archive,
            expected="names and links that stay within it, and no name below a link",
            found=fault,
            hint="Make it again with a tool that you trust: env pack, or conda-pack.",
        )


def _members(name: str, file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    if name.endswith(".zip"):
        yield from _of_zip(file)
        return
    with gzip.open(file) as unzipped:
        with tarfile.open(fileobj=unzipped, mode="r|") as tar:
            yield from tar
        while unzipped.read(_CHUNK_BYTES):  # read to the end, where the checksum is
            pass


def _of_zip(file: BinaryIO) -> Iterator[tarfile.TarInfo]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            member = tarfile.TarInfo(info.filename)
            if kinds.S_ISLNK(info.external_attr >> 16):
                member.type = tarfile.SYMTYPE
                with archive.open(info) as link:
                    member.linkname = link.read(_LONGEST_PATH + 1).decode("utf-8", "replace")
            elif info.is_dir():
                member.type = tarfile.DIRTYPE
            yield member
