"""Hadoop's native library, as every real node has it.

Without it a NodeManager starts a `chmod` for each file that it unpacks for a container, 5 ms each:
a minute and a half for a Python environment. Hadoop's own artifacts on Maven Central do not hold
it; Trino's do, built from Hadoop 3.3.5, whose calls 3.4 still has.
"""

from __future__ import annotations

import platform
import zipfile
from pathlib import Path

from audioloom_mini_cluster.jars import Jar, ensure

NATIVE = Jar(
    "io.trino.hadoop",
    "hadoop-apache",
    "3.3.5-3",
    "",
    "2d6fb96cb86f0411f1d520012b0fe2fc0215dcf920108e316f3e31b435dcc88d",
)
_PROCESSORS = {"x86_64": "amd64", "aarch64": "aarch64", "ppc64le": "ppc64le"}


def unpack_native(cache: Path, folder: Path, *, java: Path) -> bool:
    """Put `libhadoop.so` into *folder*; whether there is one for this processor.

    Args:
        cache: the folder to keep its jar in.
        folder: a new one.
        java: the `java` program, which runs Ivy where there is no `mvn`.

    Raises:
        JarsMissing: it cannot be fetched, or what came is not what was pinned.
    """
    processor = _PROCESSORS.get(platform.machine())
    if processor is None:
        return False
    jar = ensure("hadoop-native", [NATIVE], cache, java=java) / NATIVE.file
    folder.mkdir()
    with zipfile.ZipFile(jar) as archive:
        data = archive.read(f"nativelib/Linux-{processor}/libhadoop.so")
    (folder / "libhadoop.so").write_bytes(data)
    return True
