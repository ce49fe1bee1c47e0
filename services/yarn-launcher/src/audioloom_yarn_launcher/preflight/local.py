"""The checks of this machine: configuration, programs, variables, disks, key and identity."""

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from audioloom_hadoop.configuration import Hadoop
from audioloom_stage.checks import CheckResult, failure, ok, warning

from audioloom_yarn_launcher.system.files import text_of
from audioloom_yarn_launcher.system.processes import output_of
from audioloom_yarn_launcher.yarn.configuration import CONF, check_programs, find_java
from audioloom_yarn_launcher.yarn.credentials import Login, life_of, own_key
from audioloom_yarn_launcher.yarn.skein_application import import_skein

JAVA_FOLDER = "/tmp"  # noqa: S108 - Java's, whatever TMPDIR says
AUTHENTICATION = "hadoop.security.authentication"
OLDEST_JAVA, NEWEST_JAVA = 8, 21
WITHIN_S = 60.0
"""For a program of this machine; `doctor` itself waits less long."""
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')
_GRPC = ("grpc_proxy", "https_proxy", "http_proxy")
"""gRPC takes the first of these that is set, and knows none of them in capitals."""
_DRIVER = "127.0.0.1"
_MAPREDUCE = "hadoop-mapreduce-client-core"


def configuration(hadoop: Hadoop) -> CheckResult:
    """Check the configuration of the cluster."""
    pages = ", ".join(hadoop.pages)
    return ok("configuration", f"{CONF}={hadoop.conf}: {hadoop.value('fs.defaultFS')}, {pages}")


def java() -> CheckResult:
    """Check this machine's Java."""
    return check_java(output_of(find_java(), "-version", within_s=WITHIN_S, errors=True))


def class_path(hadoop: Hadoop) -> CheckResult:
    """Check the class path with which skein's driver is started."""
    check_programs()
    said = output_of("yarn", "classpath", "--glob", within_s=WITHIN_S)
    return check_class_path(said, kerberos=has_kerberos(hadoop))


def is_noexec(folder: str) -> bool:
    """Return whether the file system of a folder is mounted `noexec`."""
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)


def key() -> CheckResult:
    """Check skein's key; renew it if it has expired, expires soon, or is very young."""
    skein = import_skein()
    folder = Path(skein.properties.config_dir)
    before = text_of(folder / "skein.crt")
    found = own_key(skein)
    life = life_of(found)
    if not life.is_good(datetime.now(UTC)):
        return failure("skein's key", f"the one in {folder} is no good", f"rm -r {folder}")
    renewed = "renewed, " if before != text_of(folder / "skein.crt") else ""
    return ok("skein's key", f"{renewed}good from {life.begins:%Y-%m-%d} to {life.ends:%Y-%m-%d}")


def identity(hadoop: Hadoop, login: Login | None) -> CheckResult:
    """Check this user's name on the cluster, and its proof: a ticket that is good, or a keytab."""
    if not has_kerberos(hadoop):
        return ok("identity", f"{getpass.getuser()}, which the cluster believes (no Kerberos)")
    proof = f"{login.principal} by {login.keytab}" if login else ticket()
    if proof is None:
        return failure(
            "identity",
            "the cluster has Kerberos, and there is no ticket that is good",
            "kinit, or --keytab and --principal",
        )
    return ok("identity", proof)


def has_kerberos(hadoop: Hadoop) -> bool:
    """Whether the cluster has Kerberos."""
    return hadoop.value(AUTHENTICATION).lower() == "kerberos"


def ticket() -> str | None:
    """Return what `klist` tells of the ticket, None without a good one."""
    klist = shutil.which("klist")
    if klist is None or subprocess.run([klist, "-s"], check=False).returncode:
        return None
    lines = [line.strip() for line in output_of(klist, within_s=WITHIN_S).splitlines()]
    return next((line for line in lines if line.startswith("Default principal")), "a ticket")


def check_java(said: str) -> CheckResult:
    """Check the output of `java -version`."""
    version, first = read_java(said)
    if version is None or not OLDEST_JAVA <= version <= NEWEST_JAVA:
        hint = "Set JAVA_HOME to a Java 8 to 21, as the cluster has it."
        return failure("Java here", f"java -version says {first}", hint)
    return ok("Java here", first)


def read_java(said: str) -> tuple[int | None, str]:
    """Find the version in the output of `java -version`: the major one, and its line.

    The output may also have lines on JAVA_TOOL_OPTIONS.
    """
    lines = said.strip().splitlines() or ["nothing"]
    found = next((line for line in lines if _VERSION.search(line)), lines[0])
    match = _VERSION.search(found)
    return int(match[1]) if match else None, found


def check_proxies(variables: Mapping[str, str], pages: Sequence[str]) -> CheckResult:
    """Check the variables that lead connections to a proxy, of those to pages of the cluster."""
    hosts = sorted({urlsplit(page).hostname or page for page in pages})
    exempt = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    for_grpc = variables.get("no_grpc_proxy") or variables.get("no_proxy") or ""
    hint = f"export no_proxy={','.join([_DRIVER, 'localhost', *hosts])}"
    named = next((name for name in _GRPC if variables.get(name)), None)
    if named is not None and not _is_exempt(_DRIVER, for_grpc):
        text = f"{named} leads even what is said to skein's driver here to {variables[named]}"
        return failure("proxies", text, hint)
    http = variables.get("http_proxy") or variables.get("HTTP_PROXY")
    led = [host for host in hosts if not _is_exempt(host, exempt)]
    if http and led and exempt.strip() != "*":
        return warning("proxies", f"questions to {', '.join(led)} are led to {http}", hint)
    return ok("proxies", "none between here and the cluster")


def _is_exempt(host: str, listed: str) -> bool:
    names = [name.strip().lstrip(".") for name in listed.split(",") if name.strip()]
    return any(host == name or host.endswith(f".{name}") for name in names)


def check_temp_dirs(folders: Iterable[str]) -> CheckResult:
    """Check that no folder for temporary files is mounted `noexec`."""
    folders = sorted(folders)
    if bad := [folder for folder in folders if is_noexec(folder)]:
        return failure(
            "temp dir",
            f"{', '.join(bad)} is mounted noexec: Java cannot load the libraries it puts there",
            "export TMPDIR=/a/folder JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/a/folder",
        )
    return ok("temp dir", ", ".join(folders))


def check_class_path(text: str, *, kerberos: bool) -> CheckResult:
    """Check the output of `yarn classpath --glob`, with which skein's driver is started."""
    jars = [part for part in text.strip().split(":") if part.endswith(".jar")]
    hint = "Put Hadoop's own `yarn` on the PATH, of an installation with all its jars."
    if not jars:
        return failure("class path", "`yarn classpath --glob` names no jar", hint)
    if not any(_MAPREDUCE in jar for jar in jars):
        text = f"no {_MAPREDUCE}, which skein needs to ask for tokens"
        return (failure if kerberos else warning)("class path", text, hint)
    return ok("class path", f"{len(jars)} jars")
