"""Build an environment of pinned distributions; its digest is known before anything is built."""

import hashlib
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from audioloom_environment.contents import Environment, describe
from audioloom_environment.errors import CannotBuild, IngredientMissing
from audioloom_environment.files import sha256_of

LAYOUT = 2
"""Raised when the same inputs would become another archive."""
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?==[^\s*;]+$")
_LEFT_OUT = frozenset({"__pycache__", ".git", ".nox", ".venv", "build", "dist", "tests"})
_MOST_SAID = 1500

log = structlog.get_logger()


@dataclass(frozen=True)
class BuildInputs:
    """The ingredients of an environment.

    Args:
        digest: SHA-256 in hex of all ingredients, of Python's version and of the platform.
        python: `3.11`.
        requirements: a file that pins every distribution, or None.
        wheels: a folder with all distributions; None for the index.
        local: folders of projects whose dependencies the requirements pin.
        packages: additional wheels, folders of projects, pinned names.
    """

    digest: str
    python: str
    requirements: Path | None
    wheels: Path | None
    local: tuple[str, ...]
    packages: tuple[str, ...]


def build_inputs(
    folder: Path,
    *,
    python: str,
    requirements: str | None = None,
    wheels: str | None = None,
    project: str | None = None,
    extras: tuple[str, ...] = (),
    packages: tuple[str, ...] = (),
) -> BuildInputs:
    """Collect the ingredients of an environment and compute its digest.

    Args:
        folder: an empty folder for files that are derived from a project.
        python: the version, `3.11`.
        requirements: a file that pins every distribution.
        wheels: a folder that all distributions are taken from.
        project: a folder with a lock, installed with the distributions that the lock pins.
        extras: extras of the project.
        packages: wheels, folders of projects, `name==version`.

    Raises:
        IngredientMissing: a file or a folder is missing.
        CannotBuild: a distribution is not pinned, or there are no ingredients.
    """
    pins, wheelhouse = _existing(requirements), _existing(wheels)
    added = [_package(each) for each in packages]
    local: list[str] = []
    if (source := _existing(project)) is not None:
        pins = _locked(source, extras, folder)
        local = _local_projects(source, extras)
    if pins is None and not added:
        raise CannotBuild(
            "there is nothing to build an environment from",
            expected="--requirements FILE, --project FOLDER or --with PACKAGE",
            found="none of them",
        )
    facts = {
        "layout": LAYOUT,
        "python": python,
        "platform": f"{platform.system()} {platform.machine()} {'-'.join(platform.libc_ver())}",
        "requirements": _lines(pins) if pins else None,
        "wheels": [f"{each.name} {sha256_of(each)}" for each in _wheels_in(wheelhouse)],
        "packages": [_package_facts(each) for each in (*local, *added)],
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return BuildInputs(digest, python, pins, wheelhouse, tuple(local), tuple(added))


def build_environment(inputs: BuildInputs, folder: Path) -> Environment:
    """Build the environment in a folder, with the program `uv`.

    Raises:
        CannotBuild: a step failed, or uv is not installed.
    """
    prefix = folder / "environment"
    log.info("building the environment", python=inputs.python)
    _run("uv", "venv", "--quiet", "--relocatable", f"--python={inputs.python}", str(prefix))
    install = ("uv", "pip", "install", "--quiet", f"--python={prefix}")
    if inputs.requirements is not None:
        offline: tuple[str, ...] = ()
        if inputs.wheels is not None:
            offline = ("--no-index", f"--find-links={inputs.wheels}")
        _run(*install, *offline, f"--requirements={inputs.requirements}")
    if inputs.local:
        _run(*install, "--no-deps", *inputs.local)
    if inputs.packages:
        _run(*install, *inputs.packages)
    return describe(prefix)


def _existing(text: str | None) -> Path | None:
    if text is None:
        return None
    path = Path(text).absolute()
    if not path.exists():
        raise IngredientMissing("an ingredient of the environment is not there", where=path)
    return path


def _package(text: str) -> str:
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
        return [path.name, sha256_of(path)]
    if path.is_dir():
        files = [f"{each.relative_to(path)} {sha256_of(each)}" for each in _sources(path)]
        return [path.name, *files]
    return [package]


def _sources(project: Path) -> Iterator[Path]:
    for path in sorted(project.rglob("*")):
        within = path.relative_to(project)
        hidden = any(part in _LEFT_OUT or part.endswith(".egg-info") for part in within.parts)
        if path.is_file() and not hidden:
            yield path


def _lines(requirements: Path) -> list[str]:
    text = requirements.read_text()
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _wheels_in(folder: Path | None) -> list[Path]:
    return sorted(folder.glob("*.whl")) if folder else []


def _locked(project: Path, extras: tuple[str, ...], folder: Path) -> Path:
    target = folder / "locked.txt"
    _run(
        *("uv", "export", "--quiet", "--locked", "--no-default-groups", "--no-emit-local"),
        *(f"--project={project}", f"--output-file={target}"),
        *(f"--extra={each}" for each in extras),
    )
    return target


def _local_projects(project: Path, extras: tuple[str, ...]) -> list[str]:
    lines = _run(
        *("uv", "export", "--quiet", "--locked", "--no-default-groups", "--no-hashes"),
        *("--no-header", "--no-annotate", f"--project={project}"),
        *(f"--extra={each}" for each in extras),
    ).splitlines()
    local = [line.removeprefix("-e ").strip() for line in lines if line.startswith("-e ")]
    return sorted(str((project / each).resolve()) for each in local)


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        raise CannotBuild(
            f"the program `{command[0]}` is missing, which builds environments",
            expected=f"{command[0]} on the PATH",
            found="none",
            hint="pip install uv",
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuild(
            "a step of the building failed",
            where=" ".join(command[:3]),
            found=done.stderr.strip()[-_MOST_SAID:],
        )
    return done.stdout
