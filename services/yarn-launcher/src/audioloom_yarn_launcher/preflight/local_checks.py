"""What `doctor` says of this machine; who asks the machine is `doctor_here`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from audioloom_yarn_launcher.preflight.findings import Finding, failure, ok, warning

OLDEST_JAVA, NEWEST_JAVA = 8, 21
ROOM_MB = 2048
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')
_GRPC = ("grpc_proxy", "https_proxy", "http_proxy")
"""gRPC takes the first of these that is set, and knows none of them in capitals."""
_DRIVER = "127.0.0.1"
_MAPREDUCE = "hadoop-mapreduce-client-core"


def java(said: str) -> Finding:
    """Of what `java -version` says."""
    first = java_line(said)
    version = java_version(said)
    if version is None or not OLDEST_JAVA <= version <= NEWEST_JAVA:
        mend = "Set JAVA_HOME to a Java 8, 11 or 17, as the cluster has it."
        return failure("Java here", f"java -version says {first}", mend)
    return ok("Java here", first)


def java_line(said: str) -> str:
    """The line that tells the version, among those of JAVA_TOOL_OPTIONS and the like."""
    lines = said.strip().splitlines()
    return next((line for line in lines if _VERSION.search(line)), lines[0] if lines else "nothing")


def java_version(said: str) -> int | None:
    """The major version in what `java -version` says."""
    match = _VERSION.search(said)
    return int(match[1]) if match else None


def proxies(variables: Mapping[str, str], hosts: Sequence[str]) -> Finding:
    """Of the variables that lead connections to a proxy.

    Args:
        variables: of this process.
        hosts: of the cluster, that are asked over HTTP.
    """
    exempt = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    for_grpc = variables.get("no_grpc_proxy") or variables.get("no_proxy") or ""
    mend = f"export no_proxy={','.join([_DRIVER, 'localhost', *hosts])}"
    named = next((name for name in _GRPC if variables.get(name)), None)
    if named is not None and not _is_exempt(_DRIVER, for_grpc):
        text = f"{named} leads even what is said to skein's driver here to {variables[named]}"
        return failure("proxies", text, mend)
    http = variables.get("http_proxy") or variables.get("HTTP_PROXY")
    led = [host for host in hosts if not _is_exempt(host, exempt)]
    if http and led and exempt.strip() != "*":
        return warning("proxies", f"questions to {', '.join(led)} are led to {http}", mend)
    return ok("proxies", "none between here and the cluster")


def _is_exempt(host: str, listed: str) -> bool:
    names = [name.strip().lstrip(".") for name in listed.split(",") if name.strip()]
    return any(host == name or host.endswith(f".{name}") for name in names)


def temp_dirs(noexec: Mapping[str, bool]) -> Finding:
    """Of the folders for temporary files: whether their file system lets no program run."""
    bad = sorted(folder for folder, is_noexec in noexec.items() if is_noexec)
    if bad:
        return failure(
            "temp dir",
            f"{', '.join(bad)} is mounted noexec: Java cannot load the libraries it puts there",
            "export TMPDIR=/a/folder JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/a/folder",
        )
    return ok("temp dir", ", ".join(sorted(noexec)))


def room(free_mb: Mapping[str, int]) -> Finding:
    """Of the room for what is staged: job files, archives of environments."""
    told = ", ".join(f"{mb} MiB free in {folder}" for folder, mb in sorted(free_mb.items()))
    short = [folder for folder, mb in free_mb.items() if mb < ROOM_MB]
    if short:
        return warning(
            "room here",
            told,
            f"Packing an environment takes up to {ROOM_MB} MiB: clear up, or set TMPDIR.",
        )
    return ok("room here", told)


def key(begins: datetime, ends: datetime, *, renewed: bool) -> Finding:
    """Of skein's certificate, after it was made anew if it had to be."""
    done = "made anew, " if renewed else ""
    return ok("skein's key", f"{done}good from {begins:%Y-%m-%d} to {ends:%Y-%m-%d}")


def class_path(text: str, *, kerberos: bool) -> Finding:
    """Of what `yarn classpath --glob` says, which skein's driver is started with."""
    jars = [part for part in text.strip().split(":") if part.endswith(".jar")]
    mend = "Put Hadoop's own `yarn` on the PATH, of an installation with all its jars."
    if not jars:
        return failure("class path", "`yarn classpath --glob` names no jar", mend)
    if not any(_MAPREDUCE in jar for jar in jars):
        text = f"no {_MAPREDUCE}, which skein needs to ask for tokens"
        return (failure if kerberos else warning)("class path", text, mend)
    return ok("class path", f"{len(jars)} jars")
