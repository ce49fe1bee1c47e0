"""The files of an archive: the source of each, and its expected content."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audioloom_environment.records import Claim

_SLACK_NS = 2_000_000_000  # file systems that keep whole or even seconds


@dataclass(frozen=True)
class Member:
    """One file or link of an archive."""

    path: str
    """In the archive."""
    source: Path | bytes | None
    """The file that it is made of, its bytes, or None for a link."""
    mode: int
    size: int
    sha256: str
    """Of the source, in hex."""
    link: str = ""
    """The target of a link."""
    patched: bool = False
    """It is a part of the interpreter that is changed while packing."""


def bytes_member(path: str, data: bytes, *, mode: int = 0o644) -> Member:
    """Make a member from bytes."""
    return Member(path, data, mode, len(data), hashlib.sha256(data).hexdigest())


def file_member(
    path: str, source: Path, *, claim: Claim | None = None, patched: bool = False
) -> Member:
    """Make a member from a file on disk; links are followed."""
    found = source.stat()
    if claim is not None and (
        claim.size != found.st_size or found.st_mtime_ns > claim.said_ns + _SLACK_NS
    ):
        claim = None
    sha256 = sha256_of(source) if claim is None else claim.sha256
    mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
    return Member(path, source, mode, found.st_size, sha256, patched=patched)


def members_below(
    folder: Path,
    start: str,
    skip: Callable[[str], bool],
    claims: Callable[[str], Claim | None] = lambda _: None,
) -> Iterator[Member]:
    """Yield the files below a folder, without bytecode; links are followed, but not in circles.

    *start* is put before each path. *skip* and *claims* get the paths below *folder*.
    """
    for parent, folders, files in os.walk(folder, followlinks=True):
        inner = os.path.relpath(parent, folder)
        before = "" if inner == "." else inner + "/"
        folders[:] = [
            name
            for name in folders
            if name != "__pycache__" and not skip(before + name) and not _circle(parent, name)
        ]
        for name in files:
            path = before + name
            source = Path(parent, name)
            if not name.endswith(".pyc") and not skip(path) and source.is_file():
                yield file_member(start + path, source, claim=claims(path))


def _circle(parent: str, name: str) -> bool:
    path = Path(parent, name)
    return path.is_symlink() and Path(parent).resolve().is_relative_to(path.resolve())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
