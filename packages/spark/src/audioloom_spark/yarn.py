"""Run Spark on YARN in client mode: ship files to the nodes and configure Spark.

The nodes need Java and nothing else: Spark's jars and the stage's whole environment, interpreter
included, come from storage, each under a digest of what is inside, each uploaded once.
"""

import hashlib
import socket
import sys
import tarfile
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_environment.archive import add_member
from audioloom_environment.files import Member, file_member
from audioloom_environment.records import Claim, read_distributions
from audioloom_environment.upload import put_own, ship
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import Location, locate

from audioloom_spark.cluster import check_cluster, local_address
from audioloom_spark.settings import SparkSettings

log = structlog.get_logger()

FOLDER = "environments"

#: An executor's Python: YARN unpacks the archive into the container.
ENVIRONMENT_PYTHON = "./environment/bin/python"

# Spark brings its own Python part along.
_LEFT_OUT = ("pyspark", "py4j")
_DIGITS = 16


def prepare(settings: SparkSettings, root: Location | str, home: Path) -> dict[str, str]:
    """Check that the cluster answers, ship what its nodes need, and return Spark's settings.

    The files lie below the root of the runs, unless the settings say where. *home* is SPARK_HOME.

    Raises:
        BadConfiguration, ServiceDown: before anything is shipped.
        StorageError, BadConfiguration, …: the files could not be shipped.
    """
    conf = check_cluster(
        memory=settings.executor_memory, cores=settings.executor_cores, queue=settings.queue
    )
    memory, cores = settings.executor_memory, settings.executor_cores
    address = settings.driver_address or local_address(conf.managers)
    log.info("starting Spark on YARN", executors=settings.executors, driver_address=address)
    folder = locate(settings.environments or locate(root) / FOLDER)
    environment = ship(sys.prefix, folder, exclude=_LEFT_OUT)
    jars = ship_jars(home, folder)
    spark_conf = {
        "spark.submit.deployMode": "client",
        "spark.yarn.archive": jars.uri,
        "spark.yarn.dist.archives": f"{environment.uri}#environment",
        "spark.executor.instances": str(settings.executors),
        "spark.executor.cores": str(cores),
        "spark.executor.memory": f"{settings.heap >> 20}m",
        # Tasks work in Python: they get the memory that the JVM does not take.
        "spark.executor.memoryOverhead": f"{(memory - settings.heap) >> 20}m",
        "spark.yarn.am.memory": "512m",
        # A failure at the start would repeat: report it, instead of trying for minutes.
        "spark.yarn.maxAppAttempts": "1",
        "spark.driver.host": address,
        "spark.driver.bindAddress": bind_address(address),
        # The last units of a slow node are begun on another one too. The first receipt counts, and
        # `gc` removes the files of the other attempt. A short unit is not worth it.
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.9",
        "spark.speculation.multiplier": "3",
        "spark.speculation.minTaskRuntime": "60s",
        # Nodes may have services and settings of other Sparks; ours needs none of them.
        "spark.dynamicAllocation.enabled": "false",
        "spark.shuffle.service.enabled": "false",
        # The cluster's configuration as Spark brings it along, for tasks that read HDFS. Relative,
        # as nobody fills in variables here: workers start in their container's folder.
        "spark.executorEnv.HADOOP_CONF_DIR": "./__spark_conf__/__hadoop_conf__",
        # As on this machine; see `spark_session`.
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.python.daemon.module": "audioloom_spark.daemon",
    }
    if settings.queue is not None:
        spark_conf["spark.yarn.queue"] = settings.queue
    if settings.node_java is not None:
        spark_conf["spark.yarn.appMasterEnv.JAVA_HOME"] = settings.node_java
        spark_conf["spark.executorEnv.JAVA_HOME"] = settings.node_java
    return spark_conf


def bind_address(address: str) -> str:
    """Return the address itself if it is one of this machine; behind NAT all of its addresses."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        log.warning(
            "Spark's driver listens at every address of this machine, as the one that executors are"
            " given is not its own: its secret keeps others out, a firewall would keep them away",
            driver_address=address,
        )
        return "0.0.0.0"  # noqa: S104 - the user named an address that is not this machine's
    return address


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
