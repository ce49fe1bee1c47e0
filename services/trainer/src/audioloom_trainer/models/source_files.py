"""The files of a user's function: its own file, and the modules beside it that it imports.

The modules are found by parsing and not by importing, which would run the files.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from audioloom_trainer.errors import BadModel

MOST_FILES = 1000
_MOST_BYTES = 16 << 20


def source_files(path: Path, data: bytes) -> dict[str, bytes]:
    """Read the modules and packages beside a file that it imports, one through another.

    Returns:
        The contents by path relative to the file's folder, the file itself first.

    Raises:
        BadModel: there are too many files, or one is too large or cannot be read.
    """
    found, todo = {path.name: data}, [path.name]
    while todo:
        for module in _imported(found[todo.pop()]):
            for file in _files_of(path.parent, module):
                name = file.relative_to(path.parent).as_posix()
                if name not in found:
                    found[name] = _read(file)
                    todo.append(name)
        if len(found) > MOST_FILES:
            raise BadModel(
                where=path,
                expected=f"at most {MOST_FILES} files of modules beside it",
                found=f"{len(found)}",
                hint="Install them as a package.",
            )
    return found


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the digest of a function's files: of one file, its SHA-256."""
    digests = {name: hashlib.sha256(data) for name, data in files.items()}
    if len(digests) == 1:
        return next(iter(digests.values())).hexdigest()
    whole = hashlib.sha256()
    for name, digest in sorted(digests.items()):
        whole.update(name.encode() + b"\0" + digest.digest())
    return whole.hexdigest()


def _imported(data: bytes) -> Iterator[str]:
    """Yield the first part of each module that a file imports; nothing of a file with an error."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):  # the import reports it
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _files_of(folder: Path, module: str) -> list[Path]:
    """List the files of a module or a package of a folder; of any other module, none."""
    if (folder / module / "__init__.py").is_file():
        return sorted((folder / module).rglob("*.py"))
    file = folder / f"{module}.py"
    return [file] if file.is_file() else []


def _read(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadModel(where=file, expected="a readable file", found=str(error)) from None
    if len(data) > _MOST_BYTES:
        raise BadModel(where=file, expected="a Python file", found=f"{len(data)} bytes")
    return data
