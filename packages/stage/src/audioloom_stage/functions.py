"""Find a function that the user names, without importing its module.

Importing a file runs it, and may import a library that takes seconds. A committed run is recognised
by the digest of the file alone.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

HINT = "Give it as package.module:function or path/to/file.py:function."
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class FoundFunction:
    """The file of a function.

    Attributes:
        module: Name of the module; None for a file outside packages.
        path: of the file.
        function: Name of the function; whether the file has it is not known.
        data: Content of the file.
    """

    module: str | None
    path: Path
    function: str
    data: bytes

    @property
    def label(self) -> str:
        """The name for manifests: that of the module, or of the file without its folder."""
        return f"{self.module or self.path.name}:{self.function}"

    @cached_property
    def sha256(self) -> str:
        """The digest of the file, in hex."""
        return hashlib.sha256(self.data).hexdigest()


def find_function(
    reference: str,
    option: str,
    *,
    hint: str = HINT,
    raised: Callable[..., Exception] = BadConfiguration,
) -> FoundFunction:
    """Find the function that an option names as MODULE:FUNCTION or FILE.py:FUNCTION.

    Args:
        reference: The text of the option.
        option: Its flag, for errors.
        hint: What to do, for errors.
        raised: The class of the errors.

    Raises:
        BadConfiguration: the text has another form, or there is no such file.
    """
    place, colon, function = reference.rpartition(":")
    if not colon or not place or not function.isidentifier():
        expected = "MODULE:FUNCTION or FILE.py:FUNCTION"
        raise raised(where=option, expected=expected, found=repr(reference), hint=hint)
    module = None if place.endswith(".py") else place
    path = Path(place).expanduser().resolve() if module is None else _path_of(module)
    if path is None:
        raise raised(
            where=option,
            expected=f"a Python module {place!r} in this environment",
            found="none",
            hint=f"{hint} Modules are looked for where {Path(sys.executable).name} finds them.",
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        expected = f"a file for {reference!r}"
        raise raised(where=option, expected=expected, found=str(error), hint=hint) from None
    if len(data) > _MOST_BYTES:
        raise raised(where=path, expected="a Python file", found=f"{len(data)} bytes")
    return FoundFunction(module, path, function, data)


def _path_of(module: str) -> Path | None:
    """The file of a module, without importing its parent packages, unlike `find_spec`."""
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
    origin = spec.origin if spec is not None and spec.has_location else None
    return Path(origin) if origin is not None and origin.endswith(".py") else None
