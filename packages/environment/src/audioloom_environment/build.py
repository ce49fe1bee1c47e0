"""Build an environment of pinned distributions; its digest is known before anything is built."""

import hashlib
import json
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePath

import structlog
from audioloom_stage.errors import BadConfiguration, InputMissing

from audioloom_environment.contents import Environment, describe
from audioloom_environment.files import members_below, sha256_of
from audioloom_environment.programs import output_of

LAYOUT = 2
"""Raised when the same inputs would become another archive."""
_PINNED = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?==[^\s*;]+$")
_BY_CONTENT = re.compile(r"--hash=|@[0-9a-f]{40}\b|#sha256=")
_OF_OTHERS = re.compile(r"-[rce]|--(?:requirement|constraint|editable)\b")
"""Options that name files whose content is not in the digest."""
_LINE_END = re.compile(r"(?<!\\)\n")
_LEFT_OUT = frozenset({"__pycache__", ".git", ".nox", ".venv"})
_LEFT_OUT_AT_TOP = frozenset({"build", "dist", "tests"})
"""Further down these are names of packages."""

log = structlog.get_logger()


@dataclass(frozen=True)
class BuildInputs:
    """The ingredients of an environment, as `build_inputs` takes them."""

    digest: str
    """SHA-256 in hex of all ingredients, of Python's version and of the platform."""
    python: str
    requirements: Path | None
    wheels: Path | None
    local: list[str]
    """Folders whose dependencies the requirements pin; a marker may follow, as in `/lib ; …`."""
    packages: list[str]


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
        wheels: a folder that all distributions are taken from; None for the index.
        project: a folder with a lock, installed with the distributions that the lock pins.
        extras: extras of the project.
        packages: more of them: wheels, folders of projects, `name==version`.

    Raises:
        InputMissing: a file or a folder is missing.
        BadConfiguration: a distribution is not pinned, or there are no ingredients.
    """
    pins, wheelhouse = _existing(requirements), _existing(wheels)
    added = [_package(each) for each in packages]
    local: list[str] = []
    if (source := _existing(project)) is not None:
        pins, local = _locked(source, extras, folder)
    elif pins is not None:
        _check_pinned(pins)
    if pins is None and not added:
        raise BadConfiguration(
            "there is nothing to build an environment from",
            expected="--requirements FILE, --project FOLDER or --with PACKAGE",
            found="none of them",
        )
    # uv takes archives of sources from there too.
    archives = sorted(each for each in wheelhouse.glob("*") if each.is_file()) if wheelhouse else []
    lines = map(str.strip, pins.read_text().splitlines()) if pins else ()
    facts = {
        "layout": LAYOUT,
        "python": python,
        "platform": f"{platform.system()} {platform.machine()} {'-'.join(platform.libc_ver())}",
        "requirements": [line for line in lines if line and line[0] != "#"] if pins else None,
        "wheels": [f"{each.name} {sha256_of(each)}" for each in archives],
        "packages": [_package_facts(each) for each in (*local, *added)],
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return BuildInputs(digest, python, pins, wheelhouse, local, added)


def build_environment(inputs: BuildInputs, folder: Path) -> Environment:
    """Build the environment in a folder with `uv`; BadConfiguration if a step fails."""
    prefix = folder / "environment"
    log.info("building the environment", python=inputs.python)
    _uv("venv", "--relocatable", f"--python={inputs.python}", str(prefix))
    install = ("pip", "install", f"--python={prefix}")
    if inputs.requirements is not None:
        offline = () if inputs.wheels is None else ("--no-index", f"--find-links={inputs.wheels}")
        _uv(*install, *offline, f"--requirements={inputs.requirements}")
    if inputs.local:
        _uv(*install, "--no-deps", *inputs.local)
    if inputs.packages:
        _uv(*install, *inputs.packages)
    return describe(prefix)


def _existing(text: str | None) -> Path | None:
    if text is None:
        return None
    path = Path(text).absolute()
    if not path.exists():
        raise InputMissing("an ingredient of the environment is not there", where=path)
    return path


def _package(text: str) -> str:
    path = Path(text)
    if path.is_dir() or (text.endswith(".whl") and path.is_file()):
        return str(path.absolute())
    if _PINNED.match(text):
        return text
    raise BadConfiguration(
        "a package of --with could be another one tomorrow",
        expected="a wheel, the folder of a project, or name==version",
        found=text,
    )


def _package_facts(package: str) -> list[str]:
    place, *marker = package.split(" ; ", maxsplit=1)
    path = Path(place)
    if not path.exists():
        return [package]
    if path.is_file():
        return [path.name, sha256_of(path)]
    found = sorted(members_below(path, "", _is_left_out), key=lambda each: PurePath(each.path))
    return [path.name, *marker, *(f"{each.path} {each.sha256}" for each in found)]


def _is_left_out(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _LEFT_OUT or name.endswith(".egg-info") or path in _LEFT_OUT_AT_TOP


def _check_pinned(requirements: Path) -> None:
    for line in _LINE_END.split(requirements.read_text()):
        text = re.split(r"(?:^|\s)#", line.strip(), maxsplit=1)[0]
        name = re.split(r";|\s--|\\\n", text, maxsplit=1)[0]
        is_option = text.startswith("-") and not _OF_OTHERS.match(text)
        pinned = _PINNED.match(name.replace(" ", "")) or _BY_CONTENT.search(line)
        if text and not is_option and not pinned:
            raise BadConfiguration(
                "a distribution of --requirements is not pinned",
                where=requirements,
                expected="name==version, or a file or an address with its hash",
                found=text,
                hint="`uv export` or `uv pip compile` writes such a file. Give a project as"
                " --project, and a folder or a wheel as --with.",
            )


def _locked(project: Path, extras: tuple[str, ...], folder: Path) -> tuple[Path, list[str]]:
    """Return a file of the distributions that a lock pins, and the folders that it names."""
    text = _uv(
        *("export", "--locked", "--no-default-groups", "--no-header", "--no-annotate"),
        f"--project={project}",
        *(f"--extra={each}" for each in extras),
    )
    # The lock of a workspace lies above its projects, and paths start from there.
    above = (each for each in (project, *project.parents) if (each / "uv.lock").exists())
    base = next(above, project)
    pinned: list[str] = []
    local: list[str] = []
    for line in _LINE_END.split(text):
        if not line.startswith(("-e ", ".", "/")):
            pinned.append(line)
            continue
        path = re.split(r" ;| \\\n", line.removeprefix("-e "), maxsplit=1)[0]
        place = (base / path).resolve()
        whole = f"{place}{line.removeprefix('-e ')[len(path) :]}"
        (local if place.is_dir() else pinned).append(whole)
    target = folder / "locked.txt"
    target.write_text("\n".join(pinned))
    return target, sorted(local)


def _uv(*words: str) -> str:
    return output_of(
        ("uv", "--quiet", *words),
        "a step of the building failed",
        where=" ".join(("uv", *words[:2])),
        hint="" if shutil.which("uv") else "The program uv builds environments: pip install uv",
    )
