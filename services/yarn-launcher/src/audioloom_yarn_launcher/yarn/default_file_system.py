"""The default file system of YARN, checked before anything is submitted.

Otherwise Hadoop's client in the driver would retry for minutes before it fails.
"""

from audioloom_hadoop.configuration import Hadoop
from audioloom_stage import ServiceDown
from audioloom_storage import Unavailable, exists, locate

from audioloom_yarn_launcher.errors import NoCluster

NAME = "fs.defaultFS"


def check_default_system(hadoop: Hadoop) -> None:
    """Check that the file system in `fs.defaultFS` answers.

    Raises:
        NoCluster: `fs.defaultFS` names none, so submitted files would stay on this machine.
        ServiceDown: no NameNode answers.
        StorageError: the NameNode refuses.
    """
    where, named = hadoop.conf / "core-site.xml", hadoop.value(NAME)
    if not named:
        raise NoCluster(
            "the cluster's own file system is not named",
            where=where,
            expected=f"{NAME}, such as hdfs://namenode:8020",
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
            expected=f"a NameNode at {NAME}, {named}",
            found=error.found,
            hint="Ask who runs the cluster, or point HADOOP_CONF_DIR at another.",
        ) from error
