"""References of an environment outside itself: editable installs, and lines of `.pth` files.

Folders that are put on the path are copied as real files. An install that finds its modules by its
own code cannot be copied, and is refused by name.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

from audioloom_environment.records import Distribution

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_NOT_SHIPPED = {"conftest.py", "noxfile.py", "setup.py", "build", "dist", "tests", "test"}


@dataclass
class Reference:
    """The replacement of the references."""

    folders: list[Path] = field(default_factory=list)
    """Their files go into site-packages."""
    replaced: set[str] = field(default_factory=set)
    """Files of site-packages that are left out or rewritten."""
    written: dict[str, bytes] = field(default_factory=dict)


def no_modules(folder: Path) -> Callable[[str], bool]:
    """Return what tells a path in *folder* that is no module: hidden, metadata, of a build, a test.

    Below its top level everything belongs to a module.
    """
    project = any((folder / name).exists() for name in _PROJECT_FILES)

    def skip(path: str) -> bool:
        if "/" in path:
            return False
        if path.startswith(".") or path.endswith((".egg-info", ".dist-info")):
            return True
        module = path.endswith(".py") or (folder / path / "__init__.py").is_file()
        return project and (path in _NOT_SHIPPED or not module)

    return skip


def read_references(
    prefix: Path, site_packages: Path, distributions: Sequence[Distribution]
) -> Reference:
    """Read every `.pth` file.

    BadConfiguration if an editable install has no folder that could be copied.
    """
    found = Reference()
    editable = {one.name: one for one in distributions if one.editable}
    resolved = set()
    for file in sorted(site_packages.glob("*.pth")):
        owner = next((one for one in editable.values() if file.name in one.files), None)
        outside = _read(file, prefix, site_packages, owner, found)
        if owner is not None and outside:
            resolved.add(owner.name)
    for name in sorted(editable.keys() - resolved):
        _refuse(editable[name], site_packages)
    return found


def _read(
    file: Path, prefix: Path, site_packages: Path, owner: Distribution | None, found: Reference
) -> bool:
    lines = file.read_text("utf-8", "surrogateescape").splitlines()
    kept, outside = [], False
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith(("import ", "import\t")):
            if owner is not None or file.name.startswith("__editable__"):
                _refuse(owner, file)
            kept.append(line)
            continue
        folder = Path(os.path.normpath(site_packages / text))
        if not folder.exists():
            continue
        if folder.is_relative_to(prefix):
            kept.append(os.path.relpath(folder, site_packages))
            continue
        if not folder.is_dir():
            _refuse(owner, file)
        outside = True
        found.folders.append(folder)
    if outside or kept != lines:
        found.replaced.add(file.name)
        if kept:
            found.written[file.name] = ("\n".join(kept) + "\n").encode("utf-8", "surrogateescape")
    return outside


def _refuse(owner: Distribution | None, where: Path) -> None:
    what = f"{owner.name} {owner.version}" if owner is not None else "A distribution"
    raise BadConfiguration(
        f"{what} is installed by reference, in a way that cannot be copied.",
        where=where,
        expected="files in site-packages, or a .pth file that names a folder",
        hint="Install it without --editable (uv: --no-editable) and pack again.",
    )
