"""The daemons' jars: pinned by version and SHA-256, fetched once, kept outside the tree.

`jars.txt` names every jar, so nothing is resolved: Maven and Ivy only fetch.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from audioloom_mini_cluster.errors import JarsMissing

HADOOP = "3.4.3"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_PATIENCE_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of Maven Central."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def file(self) -> str:
        """Its name in the folder."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{classifier}.jar"


def parse(text: str) -> tuple[Jar, ...]:
    """Read lines of `SHA-256 group:artifact:version[:classifier]`."""
    found = []
    for line in text.splitlines():
        sha256, coordinates = line.split(" ")
        group, artifact, version, *classifier = coordinates.split(":")
        found.append(Jar(group, artifact, version, "".join(classifier), sha256))
    return tuple(found)


def pinned() -> tuple[Jar, ...]:
    """The jars of this release."""
    return parse(files("audioloom_mini_cluster").joinpath("jars.txt").read_text("ascii"))


def default_cache() -> Path:
    """Where jars stay between runs: $XDG_CACHE_HOME/audioloom."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "audioloom"


def ensure_jars(cache: Path, *, java: Path) -> Path:
    """The folder with all jars of Hadoop: `ensure` of those that are pinned."""
    return ensure(f"hadoop-{HADOOP}", pinned(), cache, java=java)


def ensure(name: str, jars: Sequence[Jar], cache: Path, *, java: Path) -> Path:
    """A folder with these jars, each verified; fetched where they are not there yet.

    Args:
        name: what the folder's begins with; a digest follows.
        jars: what is to be in it.
        cache: the folder to keep it in.
        java: the `java` program, which runs Ivy where there is no `mvn`.

    Raises:
        JarsMissing: they cannot be fetched, or what came is not what was pinned.
    """
    digest = hashlib.sha256("".join(sorted(jar.sha256 for jar in jars)).encode()).hexdigest()
    target = cache / f"{name}-{digest[:12]}"
    if target.is_dir() and not _faults(target, jars):
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache):
        if _faults(target, jars):  # else another process has fetched them meanwhile
            _replace(target, jars, name, java)
    return target


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the lock leaves no file, and goes with the process that holds it."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _replace(target: Path, jars: Sequence[Jar], name: str, java: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as made:
        work, new = Path(made), Path(made) / "jars"
        new.mkdir()
        _fetch(jars, work, new, java)
        if faults := _faults(new, jars):
            raise JarsMissing(
                f"expected the {len(jars)} jars of {name} as pinned, found "
                f"{len(faults)} missing or different, the first {faults[0]}; "
                "the registry's copy is damaged or not the real one"
            )
        shutil.rmtree(target, ignore_errors=True)  # it is missing or damaged
        new.rename(target)


def _faults(folder: Path, jars: Iterable[Jar]) -> list[str]:
    return [jar.file for jar in jars if _sha256(folder / jar.file) != jar.sha256]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _fetch(jars: Iterable[Jar], work: Path, new: Path, java: Path) -> None:
    if maven := shutil.which("mvn"):
        pom = work / "pom.xml"
        pom.write_text(pom_of(jars))
        command = [maven, "-B", "-q", f"--file={pom}", _COPY, f"-DoutputDirectory={new}"]
    elif ivy := find_ivy():
        wanted = work / "ivy.xml"
        wanted.write_text(ivy_of(jars))
        pattern = f"{new}/[artifact]-[revision](-[classifier]).[ext]"
        command = [str(java), "-jar", str(ivy), "-cache", str(work / "ivy"), "-ivy", str(wanted)]
        command += ["-retrieve", pattern]
    else:
        raise JarsMissing(
            "expected Maven or Ivy to fetch Hadoop's jars with, found neither: apt-get install"
            " maven, or pip install audioloom-mini-cluster[ivy]"
        )
    log = work / "log"
    with log.open("wb") as sink:
        ran = subprocess.run(
            command, stdout=sink, stderr=sink, check=False, timeout=_PATIENCE_SECONDS
        )
    if ran.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise JarsMissing(f"{command[0]} could not fetch Hadoop's jars:\n{tail}")


def find_ivy() -> Path | None:
    """The jar that pyspark ships, without importing pyspark."""
    found = find_spec("pyspark")
    folders = (found.submodule_search_locations or []) if found else []
    jars = [jar for folder in folders for jar in Path(folder, "jars").glob("ivy-*.jar")]
    return jars[0] if jars else None


def pom_of(jars: Iterable[Jar]) -> str:
    """Write the project file by which Maven fetches jars, each without what it depends on."""

    def dependency(jar: Jar) -> str:
        classifier = f"<classifier>{jar.classifier}</classifier>" if jar.classifier else ""
        return (
            f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
            f"<version>{jar.version}</version>{classifier}<exclusions><exclusion><groupId>*</groupId>"
            "<artifactId>*</artifactId></exclusion></exclusions></dependency>\n"
        )

    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>audioloom</groupId><artifactId>mini-cluster</artifactId><version>1</version>\n"
        f"<dependencies>\n{''.join(map(dependency, jars))}</dependencies></project>\n"
    )


def ivy_of(jars: Iterable[Jar]) -> str:
    """Write the module file by which Ivy fetches jars, each without what it depends on."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for jar in jars:
        grouped.setdefault((jar.group, jar.artifact, jar.version), []).append(jar.classifier)

    def dependency(key: tuple[str, str, str], classifiers: list[str]) -> str:
        group, artifact, version = map(quoteattr, key)
        artifacts = "".join(
            f'<artifact name={artifact} type="jar" ext="jar"'
            + (f" m:classifier={quoteattr(classifier)}/>" if classifier else "/>")
            for classifier in classifiers
        )
        return (
            f'<dependency org={group} name={artifact} rev={version} force="true" transitive="false"'
            f' conf="default">{artifacts}</dependency>\n'
        )

    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="audioloom" module="mini-cluster"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{''.join(dependency(*item) for item in grouped.items())}</dependencies>"
        "</ivy-module>\n"
    )
