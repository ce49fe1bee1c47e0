"""The Hadoop configuration of this machine, its daemons, and the programs that skein starts.

All are checked before anything is started: a JVM takes minutes to report a daemon that does not
answer.
"""

import os
import shutil
from pathlib import Path

from audioloom_hadoop import configuration
from audioloom_hadoop.configuration import Hadoop, NotConfigured, unreachable
from audioloom_hadoop.rest import ANSWER_WITHIN_S
from audioloom_stage.errors import ServiceDown
from audioloom_storage import Unavailable, exists, locate

from audioloom_yarn_launcher.errors import NoCluster, ResourceManagerDown

CONF = "HADOOP_CONF_DIR"
DEFAULT_SYSTEM = "fs.defaultFS"


def find_hadoop() -> Hadoop:
    """Find the cluster that HADOOP_CONF_DIR names; NoCluster if it names none."""
    try:
        return configuration.find_hadoop()
    except NotConfigured as error:
        raise NoCluster("this machine knows of no cluster", **vars(error)) from error


def check_reachable(hadoop: Hadoop) -> None:
    """Check within seconds that a ResourceManager listens; ResourceManagerDown if none."""
    refusals = unreachable(hadoop.managers, ANSWER_WITHIN_S)
    if refusals:
        raise ResourceManagerDown(
            "no ResourceManager answers",
            where=hadoop.conf / "yarn-site.xml",
            expected="one that listens where yarn.resourcemanager.address says",
            found=refusals,
            hint="Ask who runs the cluster, or point HADOOP_CONF_DIR at another.",
        )


def check_programs() -> None:
    """Check that the programs are there that skein starts; NoCluster if one is missing."""
    find_java()
    find_yarn()


def find_java() -> str:
    """Return the Java that skein starts; NoCluster without one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin/java"))) if home else shutil.which("java")
    if java is None:
        raise NoCluster(
            "Java is missing",
            expected="bin/java in JAVA_HOME" if home else "java on the PATH, or JAVA_HOME",
            found=f"none in {home}" if home else "neither",
            hint="Install Java 8 to 21 as the cluster has it (Debian: apt install"
            " openjdk-17-jre-headless), or set JAVA_HOME.",
        )
    return java


def find_yarn() -> str:
    """Return the program `yarn`, which knows Hadoop's class path; NoCluster without it."""
    yarn = shutil.which("yarn")
    if yarn is None:
        raise NoCluster(
            "the program `yarn` is missing",
            expected="yarn on the PATH: it tells where Hadoop's jars are",
            found="none",
            hint="Put Hadoop's bin folder on the PATH.",
        )
    return yarn


def check_default_system(hadoop: Hadoop) -> None:
    """Check that the file system in `fs.defaultFS` answers.

    Raises:
        NoCluster: it names none, so submitted files would stay on this machine.
        ServiceDown, StorageError: no NameNode answers, or it refuses.
    """
    where, named = hadoop.conf / "core-site.xml", hadoop.value(DEFAULT_SYSTEM)
    if not named:
        raise NoCluster(
            "the cluster's own file system is not named",
            where=where,
            expected=f"{DEFAULT_SYSTEM}, such as hdfs://namenode:8020",
            found="none" if where.is_file() else "no such file",
            hint="Point HADOOP_CONF_DIR at a folder with the cluster's core-site.xml too.",
        )
    if not named.startswith("hdfs://"):
        return
    try:
        exists(locate(f"{named.rstrip('/')}/user"))
    except Unavailable as error:
        raise ServiceDown(
            "the cluster's own file system does not answer",
            where=where,
            expected=f"a NameNode at {DEFAULT_SYSTEM}, {named}",
            found=error.found,
            hint="Ask who runs the cluster, or point HADOOP_CONF_DIR at another.",
        ) from error
