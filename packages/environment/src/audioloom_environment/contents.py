"""The contents of an environment's archive, and its digest, without building the archive."""

import base64
import csv
import hashlib
import io
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

from audioloom_environment.files import Member, bytes_member, file_member, members_below
from audioloom_environment.interpreter import LEFT_OUT_EXTENSIONS, Interpreter, look_at
from audioloom_environment.records import Claim, Distribution, canonical, read_distributions
from audioloom_environment.references import Reference, no_modules, read_references
from audioloom_environment.relocation import relocatable_script

#: Raised when the archive's bytes change for an unchanged environment.
LAYOUT = 2

#: In the archive: the ingredients of the environment, as JSON.
DESCRIPTION = "environment.json"

#: Files of the installation: they name this machine, or change every time.
_PERSONAL = (
    *("INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json"),
)
# Parts of the standard library to leave out: tests, and modules for a screen or the network.
_LEFT_OUT = {
    *("ensurepip", "idlelib", "lib2to3/tests", "site-packages", "dist-packages", "sqlite3/test"),
    *("ctypes/test", "distutils/tests", "test", "tkinter", "turtledemo", "unittest/test"),
}
_EXTENSION_STARTS = tuple(f"lib-dynload/{name}." for name in LEFT_OUT_EXTENSIONS)
_TEST_STARTS = ("lib-dynload/_test", "lib-dynload/_xxtest", "lib-dynload/xx", "config-")


@dataclass(frozen=True)
class Environment:
    """An environment and the files to pack."""

    prefix: Path
    digest: str
    """SHA-256 in hex of everything that decides the archive's content."""
    interpreter: Interpreter = field(repr=False)
    distributions: dict[str, str]
    """The version of each distribution that is packed."""
    members: tuple[Member, ...] = field(repr=False)
    """Files of the archive, in its order."""

    @property
    def name(self) -> str:
        """The name of the environment's archive."""
        return f"{self.digest}.tar.gz"

    @property
    def bytes(self) -> int:
        """Size of all files, unpacked."""
        return sum(member.size for member in self.members)


def describe(prefix: str | Path, *, exclude: Iterable[str] = ()) -> Environment:
    """Determine the contents of an environment's archive, and the digest that names it.

    Files are read only where their distribution's RECORD does not vouch for them.

    Args:
        prefix: the folder of a virtual environment, `sys.prefix` in it.
        exclude: distributions to leave out, such as `pyspark` for Spark's executors; names that are
            not installed are ignored.

    Raises:
        BadConfiguration: nothing that can be packed lies there, or a part, which is named, works at
            this place only.
    """
    prefix = Path(prefix).absolute()
    interpreter = look_at(prefix)
    site_packages = prefix / "lib" / interpreter.name / "site-packages"
    _refuse_shared(prefix, site_packages)
    unwanted = {canonical(name) for name in exclude}
    installed = read_distributions(site_packages)
    wanted = [one for one in installed if one.name not in unwanted]
    left_out = {path for one in installed if one.name in unwanted for path in one.files}
    left_out -= {path for one in wanted for path in one.files}
    reference = read_references(prefix, site_packages, wanted)
    distributions = {one.name: one.version for one in wanted}
    members = [
        *_of_python(interpreter),
        *_of_distributions(prefix, site_packages, interpreter.name, wanted, left_out, reference),
    ]
    # Of equal names, Python would find the first: site-packages before the folders it refers to.
    unique = {member.path: member for member in reversed(members)}
    facts = {
        "layout": LAYOUT,
        "python": interpreter.version,
        "build": interpreter.build,
        "platform": interpreter.platform,
        "libc": interpreter.libc,
        "distributions": distributions,
    }
    about = json.dumps(facts, indent=2, sort_keys=True).encode() + b"\n"
    unique[DESCRIPTION] = bytes_member(DESCRIPTION, about)
    ordered = tuple(unique[path] for path in sorted(unique))
    sha256 = hashlib.sha256()
    for member in ordered:
        sha256.update(f"{member.path}\0{member.mode:o}\0{member.sha256}\0{member.link}\n".encode())
    return Environment(prefix, sha256.hexdigest(), interpreter, distributions, ordered)


def _refuse_shared(prefix: Path, site_packages: Path) -> None:
    if not site_packages.is_dir():
        raise BadConfiguration(
            where=prefix, expected="a virtual environment", found=f"no folder {site_packages}"
        )
    try:
        lines = (prefix / "pyvenv.cfg").read_text().lower().splitlines()
    except OSError:
        lines = []
    if "include-system-site-packages=true" in (line.replace(" ", "") for line in lines):
        raise BadConfiguration(
            "This environment uses the system's packages too.",
            where=prefix / "pyvenv.cfg",
            expected="include-system-site-packages = false",
            found="true",
            hint="Install all that it needs into an environment of its own.",
        )


def _of_python(interpreter: Interpreter) -> Iterator[Member]:
    name = interpreter.name
    yield file_member(f"bin/{name}", interpreter.executable, patched=True)
    for alias in ("python", "python3"):
        yield Member(f"bin/{alias}", None, 0o777, 0, "", link=name)
    if interpreter.debian:
        packages = f"lib/{name}/dist-packages"
        yield Member(packages, None, 0o777, 0, "", link="site-packages")
    # This file keeps out the packages of the node's user. `home` would have to be a fixed path.
    yield bytes_member("pyvenv.cfg", b"include-system-site-packages = false\n")
    for library, path in interpreter.libraries.items():
        yield file_member(f"lib/{library}", path, patched=True)
    for member in members_below(interpreter.stdlib, f"lib/{name}/", _not_of_use):
        inner = member.path.removeprefix(f"lib/{name}/")
        extension = inner.startswith("lib-dynload/") and inner.endswith(".so")
        yield replace(member, patched=extension)


def _not_of_use(path: str) -> bool:
    return path in _LEFT_OUT or path.startswith((*_EXTENSION_STARTS, *_TEST_STARTS))


def _of_distributions(
    prefix: Path,
    site_packages: Path,
    python: str,
    wanted: list[Distribution],
    left_out: set[str],
    reference: Reference,
) -> Iterator[Member]:
    claims = _all_claims(wanted)
    below = f"lib/{python}/site-packages/"
    personal = {f"{one.metadata}/{name}" for one in wanted for name in _PERSONAL}
    passed = left_out | personal | {one.name for one in site_packages.glob("_virtualenv.p*")}
    gone = {path.partition("/")[0] for path in left_out if ".dist-info/" in path}

    def skip(path: str) -> bool:
        return path in passed or path in reference.replaced or path in gone

    yield from members_below(site_packages, below, skip, claims)
    for one in wanted:
        if one.files:
            record = _record(one, personal | reference.replaced)
            yield bytes_member(f"{below}{one.metadata}/RECORD", record)
    for path, data in sorted(reference.written.items()):
        yield bytes_member(below + path, data)
    yield from _beside(prefix, site_packages, wanted)
    for folder in reference.folders:
        yield from members_below(folder, below, no_modules(folder))


def _beside(prefix: Path, site_packages: Path, wanted: list[Distribution]) -> Iterator[Member]:
    """Files that distributions put elsewhere in the prefix: console scripts, data."""
    for one in wanted:
        for path, claim in sorted(one.files.items()):
            if not path.startswith("../"):
                continue
            source = Path(os.path.normpath(site_packages / path))
            if not source.is_relative_to(prefix) or not source.is_file():
                continue
            inner = source.relative_to(prefix).as_posix()
            if inner.startswith("bin/") and (data := source.read_bytes()).startswith(b"#!"):
                mode = 0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644
                yield bytes_member(inner, relocatable_script(data), mode=mode)
            elif not inner.startswith("include/") and not inner.endswith(".pyc"):
                yield file_member(inner, source, claim=claim)


def _record(one: Distribution, left_out: set[str]) -> bytes:
    """A RECORD without left-out files, and without digests of scripts, which are changed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for path, claim in sorted(one.files.items()):
        if path in left_out or path.endswith(".pyc"):
            continue
        said = ("", "")
        if claim is not None and not path.startswith("../"):
            digest = base64.urlsafe_b64encode(bytes.fromhex(claim.sha256)).rstrip(b"=").decode()
            said = (f"sha256={digest}", str(claim.size))
        writer.writerow((path, *said))
    return out.getvalue().encode()


def _all_claims(distributions: list[Distribution]) -> Callable[[str], Claim | None]:
    """The claims for a path; none where two distributions disagree."""
    claims: dict[str, Claim | None] = {}
    for one in distributions:
        for path, claim in one.files.items():
            other = claims.get(path, claim)
            same = other is not None and claim is not None and other.sha256 == claim.sha256
            claims[path] = claim if same else None
    return claims.get
