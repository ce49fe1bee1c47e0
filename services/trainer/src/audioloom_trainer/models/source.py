"""Find and identify a model function without importing its module.

A function of this package is identified by its name and a revision, any other function by the
digest of its file and of the modules beside it that it imports. Importing the file would import
TensorFlow; without it, a committed run is recognised in milliseconds.
"""

from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb

from audioloom_stage.functions import find_function

from audioloom_trainer.errors import BadModel
from audioloom_trainer.models.source_files import digest_of, source_files

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
