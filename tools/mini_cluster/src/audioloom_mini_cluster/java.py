"""Find a Java that Hadoop runs on, and the words that start a daemon with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from audioloom_mini_cluster.errors import JavaMissing

_OLDEST, _NEWEST = 11, 21
_HINT = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
_OPENED = ("java.lang", "java.util", "java.io", "java.net", "java.math", "java.text", "java.time")

# Small and quick to start: no optimising compiler, no collector threads.
JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xss512k",
    "-Djava.net.preferIPv4Stack=true",
    *(word for name in _OPENED for word in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")),
    *("--add-opens", "java.base/java.util.concurrent=ALL-UNNAMED"),
)


def find_java() -> Path:
    """The `java` of JAVA_HOME, else of PATH.

    Raises:
        JavaMissing: there is none, or its version is not one that Hadoop runs on.
    """
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if found is None or not Path(found).is_file():
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise JavaMissing(f"expected Java {_OLDEST} to {_NEWEST}, found none in {where}: {_HINT}")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?([0-9]+)', said)
    if version is None or not _OLDEST <= int(version[1]) <= _NEWEST:
        raise JavaMissing(
            f"expected Java {_OLDEST} to {_NEWEST}, found {said.partition(chr(10))[0]!r}"
            f" at {found}: {_HINT}"
        )
    return Path(found).resolve()
