"""Find the Java for Spark, before Spark fails on it in its own words."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from audioloom_stage.errors import BadConfiguration

SUPPORTED = (17, 21)
INSTALL = "On Debian or Ubuntu: apt-get install openjdk-17-jre-headless"


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the `java` of JAVA_HOME, or else of PATH; it must be Java 17 or 21.

    BadConfiguration if none is there, it does not start, or it is another version.
    """
    home = environment.get("JAVA_HOME")
    path = environment.get("PATH", os.defpath)
    found = str(Path(home, "bin", "java")) if home else shutil.which("java", path=path)
    where = f"JAVA_HOME={home}" if home else "PATH"
    if found is None or not Path(found).is_file():
        raise BadConfiguration(
            "Spark needs Java.",
            expected="Java 17 or 21 in JAVA_HOME or on PATH",
            found=f"no java in {where}",
            hint=INSTALL,
        )
    version = java_version(Path(found))
    if version not in SUPPORTED:
        raise BadConfiguration(
            "Spark needs another Java.",
            expected=f"Java {' or '.join(map(str, SUPPORTED))}",
            found=f"Java {version or 'of unknown version'} at {found} (from {where})",
            hint=f"Point JAVA_HOME at one of them. {INSTALL}",
        )
    return Path(found)


def java_version(java: Path) -> int | None:
    """Return the major version that `java -version` prints, or None where it prints none."""
    try:
        answer = subprocess.run(  # the path came from JAVA_HOME or PATH, as Spark itself would do
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stderr + answer.stdout)


def parse_version(text: str) -> int | None:
    """Return the major version from `java -version`: 17 of "17.0.15", 8 of "1.8.0_402"."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None
