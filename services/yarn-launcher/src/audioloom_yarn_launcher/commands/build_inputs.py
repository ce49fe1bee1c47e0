"""What an environment is made from, and the digest of it: known before anything is built."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audioloom_yarn_launcher.errors import CannotBuild, NoEnvironment
from audioloom_yarn_launcher.settings import EnvSettings

LAYOUT = 2
"""Raised when the same ingredients would become another archive."""
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?==[^\s*;]+$")
_LEFT_OUT = frozenset({"__pycache__", ".git", ".nox", ".venv", "build", "dist", "tests"})

Run = Callable[..., str]


@dataclass(frozen=True)
class Ingredients:
    """What an environment is made from.

    Args:
        digest: SHA-256 in hex of all of it, of Python's version and of the platform.
        python: `3.11`.
        requirements: a file that pins every distribution, or None.
        wheels: a folder that all of them are taken from; None for the index.
        local: folders of projects whose needs the requirements pin.
        packages: what is added to them: wheels, folders of projects, pinned names.
    """

    digest: str
    python: str
    requirements: Path | None
    wheels: Path | None
    local: tuple[str, ...]
    packages: tuple[str, ...]


def gather(settings: EnvSettings, folder: Path, run: Run) -> Ingredients:
    """Look at what was asked for.

    Args:
        settings: of `env pack`.
        folder: an empty one, for what is derived from a project.
        run: runs a tool, and answers what it printed.

    Raises:
        NoEnvironment: something is not there.
        CannotBuild: something is not pinned, or nothing was asked for.
    """
    requirements = _existing(settings.requirements)
    wheels = _existing(settings.wheels)
    packages = [_package(each) for each in settings.with_]
    local: list[str] = []
    if settings.project is not None:
        project = _existing(settings.project)
        assert project is not None  # noqa: S101 - it was named
        requirements = _locked(project, settings.extra, folder, run)
        local = _local_projects(project, settings.extra, run)
    if requirements is None and not packages:
        raise CannotBuild(
            "there is nothing to build an environment from",
            expected="--requirements FILE, --project FOLDER or --with PACKAGE",
            found="none of them",
        )
    facts = {
        "layout": LAYOUT,
        "python": settings.python_version,
        "platform": f"{platform.system()} {platform.machine()} {'-'.join(platform.libc_ver())}",
        "requirements": _lines(requirements) if requirements else None,
        "wheels": [f"{each.name} {_sha256(each)}" for each in _wheels_in(wheels)],
        "packages": [_package_facts(each) for each in (*local, *packages)],
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return Ingredients(
        digest, settings.python_version, requirements, wheels, tuple(local), tuple(packages)
    )


def _existing(text: str | None) -> Path | None:
    if text is None:
        return None
    path = Path(text).absolute()
    if not path.exists():
        raise NoEnvironment("an ingredient of the environment is not there", where=path)
    return path


def _package(text: str) -> str:
    """A path made absolute, or a name with its version."""
    path = Path(text)
    if path.is_dir() or (text.endswith(".whl") and path.is_file()):
        return str(path.absolute())
    if _PINNED.match(text):
        return text
    raise CannotBuild(
        "a package of --with could be another one tomorrow",
        expected="a wheel, the folder of a project, or name==version",
        found=text,
    )


def _package_facts(package: str) -> list[str]:
    path = Path(package)
    if path.is_file():
        return [path.name, _sha256(path)]
    if path.is_dir():
        files = [f"{each.relative_to(path)} {_sha256(each)}" for each in _sources(path)]
        return [path.name, *files]
    return [package]


def _sources(project: Path) -> Iterator[Path]:
    for path in sorted(project.rglob("*")):
        within = path.relative_to(project)
        hidden = any(part in _LEFT_OUT or part.endswith(".egg-info") for part in within.parts)
        if path.is_file() and not hidden:
            yield path


def _lines(requirements: Path) -> list[str]:
    """What a file of requirements says, without its comments."""
    text = requirements.read_text()
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheels_in(folder: Path | None) -> list[Path]:
    return sorted(folder.glob("*.whl")) if folder else []


def _locked(project: Path, extras: tuple[str, ...], folder: Path, run: Run) -> Path:
    """What the lock of a project pins, without what lies beside it."""
    target = folder / "locked.txt"
    run(
        *("uv", "export", "--quiet", "--locked", "--no-default-groups", "--no-emit-local"),
        *(f"--project={project}", f"--output-file={target}"),
        *(f"--extra={each}" for each in extras),
    )
    return target


def _local_projects(project: Path, extras: tuple[str, ...], run: Run) -> list[str]:
    """The project, and those that its lock installs from folders."""
    lines = run(
        *("uv", "export", "--quiet", "--locked", "--no-default-groups", "--no-hashes"),
        *("--no-header", "--no-annotate", f"--project={project}"),
        *(f"--extra={each}" for each in extras),
    ).splitlines()
    local = [line.removeprefix("-e ").strip() for line in lines if line.startswith("-e ")]
    return sorted(str((project / each).resolve()) for each in local)
