"""Spark's own jars as one archive that is uploaded once, by what is in it."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import structlog
from audioloom_storage import AlreadyExists, Location, create, exists

from audioloom_spark.errors import NoCluster

__all__ = ["ship_jars"]

log = structlog.get_logger()

_DIGITS = 16


def ship_jars(home: Path, folder: Location) -> Location:
    """Make sure that the jars of a Spark installation lie in a folder, as `spark.yarn.archive`.

    Args:
        home: SPARK_HOME; its `jars/` are taken.
        folder: on storage that the nodes reach.

    Returns:
        `<folder>/spark-jars-<digest>.tar`. It is never replaced. (Not a zip: Java refuses one that
        was written in order without being compressed, which jars are already.)
    """
    jars = sorted(Path(home, "jars").glob("*.jar"))
    if not jars:
        raise NoCluster(where=home / "jars", expected="the jars of pyspark", found="none")
    location = folder / f"spark-jars-{_digest(jars)}.tar"
    if not exists(location):
        megabytes = sum(jar.stat().st_size for jar in jars) >> 20
        log.info("shipping Spark's jars", archive=str(location), megabytes=megabytes)
        try:
            with (
                create(location) as file,
                tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT) as archive,
            ):
                for jar in jars:
                    info = tarfile.TarInfo(jar.name)  # no owner, no time: the same bytes
                    info.size = jar.stat().st_size
                    with jar.open("rb") as source:
                        archive.addfile(info, source)
        except AlreadyExists:  # somebody else was faster, with the same content
            pass
    return location


def _digest(jars: list[Path]) -> str:
    sha256 = hashlib.sha256()
    for jar in jars:
        with jar.open("rb") as file:
            inner = hashlib.file_digest(file, "sha256").hexdigest()
        sha256.update(f"{jar.name}\0{inner}\n".encode())
    return sha256.hexdigest()[:_DIGITS]
