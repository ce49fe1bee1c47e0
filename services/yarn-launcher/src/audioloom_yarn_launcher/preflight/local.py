"""`doctor` asks this machine: its configuration, programs, variables, disks, keys and tickets."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from audioloom_yarn_launcher.preflight import local_checks, security_checks
from audioloom_yarn_launcher.preflight.findings import Finding, failure, ok
from audioloom_yarn_launcher.yarn.certificate import life_of, own_key
from audioloom_yarn_launcher.yarn.configuration import CONF, Hadoop, check_programs
from audioloom_yarn_launcher.yarn.login import Login
from audioloom_yarn_launcher.yarn.skein_import import import_skein

JAVA_FOLDER = "/tmp"  # noqa: S108 - Java's, whatever TMPDIR says


def configuration(hadoop: Hadoop) -> Finding:
    """The cluster that is meant."""
    pages = ", ".join(hadoop.pages)
    return ok("configuration", f"{CONF}={hadoop.conf}: {hadoop.value('fs.defaultFS')}, {pages}")


def java() -> Finding:
    """Java, of this machine."""
    check_programs()
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin/java")) if home else "java"
    done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    return local_checks.java(done.stderr + done.stdout)


def class_path(hadoop: Hadoop) -> Finding:
    """What skein's driver is started with."""
    check_programs()
    words = ["yarn", "classpath", "--glob"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return local_checks.class_path(done.stdout, kerberos=has_kerberos(hadoop))


def proxies(hadoop: Hadoop) -> Finding:
    """Variables that lead elsewhere."""
    hosts = sorted({urlsplit(page).hostname or page for page in hadoop.pages})
    return local_checks.proxies(os.environ, hosts)


def temp_dirs() -> Finding:
    """Whether programs may run where temporary files lie."""
    folders = {tempfile.gettempdir(), JAVA_FOLDER}
    return local_checks.temp_dirs({folder: is_noexec(folder) for folder in folders})


def is_noexec(folder: str) -> bool:
    """Whether the file system of a folder lets no program run."""
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)


def room() -> Finding:
    """What is free for what is staged."""
    folder = tempfile.gettempdir()
    return local_checks.room({folder: shutil.disk_usage(folder).free >> 20})


def key() -> Finding:
    """The key for skein, made anew if it has expired, soon will, or is very young."""
    skein = import_skein()
    folder = Path(skein.properties.config_dir)
    before = _bytes(folder / "skein.crt")
    found = own_key(skein)
    life = life_of(found)
    if life.is_good(datetime.now(UTC)):
        renewed = before != _bytes(folder / "skein.crt")
        return local_checks.key(life.begins, life.ends, renewed=renewed)
    return failure("skein's key", f"the one in {folder} is no good", f"rm -r {folder}")


def identity(hadoop: Hadoop, login: Login | None) -> Finding:
    """Who this user is to the cluster."""
    authentication = hadoop.value(security_checks.AUTHENTICATION)
    proof = f"{login.principal} by {login.keytab}" if login else _ticket()
    return security_checks.identity(authentication, getpass.getuser(), proof)


def has_kerberos(hadoop: Hadoop) -> bool:
    """Whether the cluster has Kerberos."""
    return hadoop.value(security_checks.AUTHENTICATION).lower() == "kerberos"


def _ticket() -> str | None:
    klist = shutil.which("klist")
    if klist is None or subprocess.run([klist, "-s"], check=False).returncode:
        return None
    done = subprocess.run([klist], capture_output=True, text=True, check=False)
    lines = [line.strip() for line in done.stdout.splitlines()]
    return next((line for line in lines if line.startswith("Default principal")), "a ticket")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
