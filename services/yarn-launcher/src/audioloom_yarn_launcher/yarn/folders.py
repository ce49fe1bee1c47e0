"""Folders of --files: each becomes an archive, which YARN unpacks in the container."""

from __future__ import annotations

import tarfile
from pathlib import Path

from audioloom_yarn_launcher.errors import NoCommand

_LEFT_OUT = frozenset({"__pycache__", ".git", ".venv"})


def pack_folder(folder: Path, target: Path) -> None:
    """Write a folder's files, at the top, into a `.tar.gz`; without bytecode, `.git` and `.venv`.

    Raises:
        NoCommand: a link in it leads out of it, or it holds what is neither file nor folder.
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
            raise NoCommand(
                "a link in a folder of --files leads out of it",
                where=path,
                expected="a relative link within the folder",
                found=str(path.readlink()),
            )
    elif not (path.is_dir() or path.is_file()):
        raise NoCommand(
            "a folder of --files holds what cannot be shipped",
            where=path,
            expected="files, folders and links within",
            found="a pipe, a socket or a device",
        )
