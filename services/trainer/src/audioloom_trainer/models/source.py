"""Find the file of a model function, and its digest, without running or importing anything.

So a finished run is recognised in milliseconds: TensorFlow, which the file imports, stays out.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

from audioloom_trainer.errors import BadModel

__all__ = ["ModelSource", "find_model"]

_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class ModelSource:
    """Where a model function is.

    Attributes:
        module: the module to import, or None when it is a file of its own.
        path: the Python file.
        function: the name inside.
        sha256: of the file.
    """

    module: str | None
    path: Path
    function: str
    sha256: str

    @property
    def label(self) -> str:
        """How a manifest names it: the module, or the file's name without its folder."""
        return f"{self.module or self.path.name}:{self.function}"

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.path}:{self.function}"


def _hint(option: str) -> str:
    return f"Give {option} as package.module:function or path/to/file.py:function."


def find_model(reference: str, option: str = "--model") -> ModelSource:
    """Find what `--model`, or another option of that form, names.

    Raises:
        BadModel: not of either form, or no such module or file.
    """
    place, colon, function = reference.rpartition(":")
    if not colon or not place or not function.isidentifier():
        raise BadModel(
            where=option,
            expected="MODULE:FUNCTION or FILE.py:FUNCTION",
            found=repr(reference),
            hint=_hint(option),
        )
    if place.endswith(".py"):
        path = Path(place).expanduser().resolve()
        return ModelSource(None, path, function, _digest(path, reference, option))
    path = _module_path(place, option)
    return ModelSource(place, path, function, _digest(path, reference, option))


def _module_path(module: str, option: str) -> Path:
    """The file of a module. Parent packages are not imported, as `find_spec` would."""
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for depth in range(len(parts) if all(part.isidentifier() for part in parts) else 0):
        spec = _find(".".join(parts[: depth + 1]), path)
        if spec is None:
            break
        path = spec.submodule_search_locations or []
    if spec is None or not spec.has_location or not spec.origin or not spec.origin.endswith(".py"):
        raise BadModel(
            where=option,
            expected=f"a Python module {module!r} in this environment",
            found="none",
            hint=f"{_hint(option)} Modules are looked for where {Path(sys.executable).name} finds"
            " them.",
        )
    return Path(spec.origin)


def _find(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def _digest(path: Path, reference: str, option: str) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadModel(
            where=option, expected=f"a file for {reference!r}", found=str(error), hint=_hint(option)
        ) from None
    if len(data) > _MOST_BYTES:
        raise BadModel(where=path, expected="a Python file", found=f"{len(data)} bytes")
    return hashlib.sha256(data).hexdigest()
