"""Ship Spark's own jars as one archive, uploaded once under its digest."""

import hashlib
import tarfile
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_environment.archive import add_member
from audioloom_environment.files import Member, file_member
from audioloom_environment.records import Claim, read_distributions
from audioloom_environment.upload import put_own
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import Location

log = structlog.get_logger()

_DIGITS = 16


def ship_jars(home: Path, folder: Location) -> Location:
    """Make sure that an archive of the jars of SPARK_HOME lies in a folder for the nodes.

    Returns:
        `<folder>/spark-jars-<digest>.tar`, or as `own_place` says. It is never replaced. (Not a
        zip: Java refuses one that was written in order without being compressed, which jars are
        already.)

    Raises:
        BadConfiguration: there are no jars.
        TryAgain: a jar is not the one that pyspark installed.
    """
    jars = _jars(home)
    if not jars:
        raise BadConfiguration(where=home / "jars", expected="the jars of pyspark", found="none")

    def write(file: BinaryIO) -> None:
        megabytes = sum(jar.size for jar in jars) >> 20
        log.info("packing Spark's jars", home=str(home), megabytes=megabytes)
        with tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT) as archive:
            for jar in jars:
                add_member(archive, tarfile.TarInfo(jar.path), jar)  # no owner, no time

    listed = "".join(f"{jar.path}\0{jar.sha256}\n" for jar in jars)
    digest = hashlib.sha256(listed.encode()).hexdigest()[:_DIGITS]
    location, _ = put_own(folder, f"spark-jars-{digest}.tar", write)
    return location


def _jars(home: Path) -> list[Member]:
    """Return the jars in order. 400 MB are read only if pyspark's RECORD is not valid."""
    claims: dict[str, Claim | None] = {}
    for one in read_distributions(home.parent):
        if one.name == "pyspark":
            claims.update(one.files)
    return [
        file_member(path.name, path, claim=claims.get(f"{home.name}/jars/{path.name}"))
        for path in sorted(Path(home, "jars").glob("*.jar"))
    ]
