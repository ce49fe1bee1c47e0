"""Find and identify a model function without importing its module.

A function of this package is identified by its name and a revision, any other function by the
digest of its file. Importing the file would import TensorFlow; without it, a committed run is
recognised in milliseconds.
"""

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from traceback import extract_tb

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
    """The digest of the file; None for a built-in function."""
    revision: int | None = None
    """None for any function that is not built in."""

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
        """Return where in the file an error was raised, `path:line`; the path if unknown."""
        path = str(self.path)
        frames = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == path]
        if isinstance(error, SyntaxError) and error.filename == path:
            lines = [error.lineno]
        return f"{path}:{lines[-1]}" if lines else path


def find_model(reference: str, option: str = "--model") -> ModelSource:
    """Find the function that `--model`, or another option of that form, names; or BadModel."""
    place, colon, function = reference.rpartition(":")
    if not colon or not place or not function.isidentifier():
        expected = "MODULE:FUNCTION or FILE.py:FUNCTION"
        raise BadModel(where=option, expected=expected, found=repr(reference), hint=_HINT)
    if place.endswith(".py"):
        path = Path(place).expanduser().resolve()
        return ModelSource(None, path, function, _digest(path, reference, option))
    module, revision = _REVISIONS.get(function, (None, None))
    if place == BUILTIN and module is None:
        expected = f"a built-in function: {', '.join(_REVISIONS)}"
        raise BadModel(where=option, expected=expected, found=repr(function))
    if module is not None and place in (BUILTIN, module):
        return ModelSource(module, _module_path(module, option), function, revision=revision)
    path = _module_path(place, option)
    return ModelSource(place, path, function, _digest(path, reference, option))


def find_builtin(label: str, revision: int | None) -> ModelSource | None:
    """Find the built-in function of a manifest; None if this release lacks the revision."""
    place, _, function = label.partition(":")
    if place != BUILTIN or _REVISIONS.get(function, ("", 0))[1] != revision:
        return None
    return find_model(label)


def _module_path(module: str, option: str) -> Path:
    """Find the file of a module without importing its parent packages, unlike `find_spec`."""
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for depth in range(len(parts) if all(part.isidentifier() for part in parts) else 0):
        name = ".".join(parts[: depth + 1])
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path) for finder in finders)), None)
        if spec is None:
            break
        path = spec.submodule_search_locations or []
    if spec is None or not spec.has_location or not spec.origin or not spec.origin.endswith(".py"):
        raise BadModel(
            where=option,
            expected=f"a Python module {module!r} in this environment",
            found="none",
            hint=f"{_HINT} Modules are looked for where {Path(sys.executable).name} finds them.",
        )
    return Path(spec.origin)


def _digest(path: Path, reference: str, option: str) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        expected = f"a file for {reference!r}"
        raise BadModel(where=option, expected=expected, found=str(error), hint=_HINT) from None
    if len(data) > _MOST_BYTES:
        raise BadModel(where=path, expected="a Python file", found=f"{len(data)} bytes")
    return hashlib.sha256(data).hexdigest()
