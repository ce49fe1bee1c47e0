"""Find and identify a model function without importing its module.

A function of this package is identified by its name and a revision, any other function by the
digest of its file and of the modules beside it that it imports. They are found by parsing:
importing the file would run it, and import TensorFlow. So a committed run is recognised in
milliseconds.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb

from audioloom_stage.functions import find_function

from audioloom_trainer.errors import BadModel

BUILTIN = "builtin"
"""Stands for the module of a function that this package brings."""

_REVISIONS = {
    "conv1d": ("audioloom_trainer.networks", 1),
    "conv2d_gru": ("audioloom_trainer.networks", 1),
    "early_stopping": ("audioloom_trainer.early_stopping", 1),
}
"""The module of each built-in function, and its revision, which is raised when its results change.

A comment, or another way to write the same network, keeps the revision: runs keep their identity.
"""

MOST_FILES = 1000
_MOST_BYTES = 16 << 20
_HINT = "Give it as package.module:function, path/to/file.py:function or builtin:NAME."


@dataclass(frozen=True)
class ModelSource:
    """The place and identity of a model function."""

    module: str | None
    """None for a file outside packages."""
    path: Path
    function: str
    sha256: str | None = None
    """The digest of the files; None for a built-in function."""
    revision: int | None = None
    """None for any function that is not built in."""
    files: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """The names and contents of the file and of the modules beside it; empty if built in."""

    @property
    def label(self) -> str:
        """The name for manifests: that of a built-in, the module, or the file without folder."""
        place = BUILTIN if self.revision else self.module or self.path.name
        return f"{place}:{self.function}"

    @property
    def place(self) -> str:
        """The place to show to people."""
        return f"{self.path}:{self.function}"

    def line_of(self, error: BaseException) -> str:
        """Return where in the files an error was raised, `path:line`; the path if unknown."""
        ours = {str(self.path), *(str(self.path.parent / name) for name, _ in self.files)}
        frames = extract_tb(error.__traceback__)
        lines = [(each.filename, each.lineno) for each in frames if each.filename in ours]
        if isinstance(error, SyntaxError) and error.filename in ours:
            lines = [(error.filename, error.lineno)]
        return "{}:{}".format(*lines[-1]) if lines else str(self.path)


def find_model(reference: str, option: str = "--model") -> ModelSource:
    """Find the function that `--model`, or another option of that form, names; or BadModel."""
    place, _, function = reference.rpartition(":")
    module, revision = _REVISIONS.get(function, (None, None))
    if place == BUILTIN and module is None:
        expected = f"a built-in function: {', '.join(_REVISIONS)}"
        raise BadModel(where=option, expected=expected, found=repr(function))
    builtin = module is not None and place in (BUILTIN, module)
    named = f"{module}:{function}" if builtin else reference
    found = find_function(named, option, hint=_HINT, raised=BadModel)
    if builtin:
        return ModelSource(module, found.path, function, revision=revision)
    files = {found.path.name: found.data}
    if found.module is None:  # whatever lies beside an installed module is installed too
        files = source_files(found.path, found.data)
    return ModelSource(
        found.module, found.path, function, digest_of(files), files=tuple(files.items())
    )


def find_builtin(label: str, revision: int | None) -> ModelSource | None:
    """Find the built-in function of a manifest; None if this release lacks the revision."""
    place, _, function = label.partition(":")
    if place != BUILTIN or _REVISIONS.get(function, ("", 0))[1] != revision:
        return None
    return find_model(label)


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


def _files_of(folder: Path, module: str) -> list[Path]:
    """Return the files of a module or package in a folder, as the import system chooses them."""
    place, alone = folder / module, folder / f"{module}.py"
    if not (place / "__init__.py").is_file():
        if alone.is_file():
            return [alone]
        found = find_spec(module)  # a folder without __init__.py comes last
        if found is not None and found.origin is not None:
            return []
    return sorted(place.rglob("*.py"))


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


def _read(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadModel(where=file, expected="a readable file", found=str(error)) from None
    if len(data) > _MOST_BYTES:
        raise BadModel(where=file, expected="a Python file", found=f"{len(data)} bytes")
    return data
