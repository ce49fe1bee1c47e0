"""The cluster that HADOOP_CONF_DIR describes: whether it answers, and from where it is reached.

Looked at before Spark is, whose client tries for minutes what fails here in seconds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress

from audioloom_storage import NotConfigured
from audioloom_storage.hadoop_configuration import Address, Hadoop, find_hadoop, unreachable

from audioloom_spark.errors import ClusterDown, NoCluster

__all__ = ["check_answers", "local_address", "read_conf"]

_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")  # as Spark
_SECONDS = 5.0


def read_conf(environment: Mapping[str, str] = os.environ) -> Hadoop:
    """The configuration of the cluster.

    Raises:
        NoCluster: neither HADOOP_CONF_DIR nor YARN_CONF_DIR leads to one.
    """
    try:
        return find_hadoop(environment, variables=_VARIABLES)
    except NotConfigured as error:
        raise NoCluster(
            "Spark does not know the cluster.",
            where=error.where,
            expected=error.expected,
            found=error.found,
            hint=error.hint,
        ) from error


def check_answers(what: str, addresses: Sequence[Address], setting: str) -> None:
    """See that one of these addresses, if there are any, accepts a connection.

    Raises:
        ClusterDown: none does, within seconds.
    """
    refusals = unreachable(addresses, _SECONDS)
    if refusals:
        raise ClusterDown(
            f"No {what} answers.",
            found=refusals,
            hint=f"See that it runs, and that {setting} in HADOOP_CONF_DIR is right.",
        )


def local_address(addresses: Sequence[Address]) -> str:
    """The address of this machine from which the first reachable of these is reached."""
    for host, port in addresses:
        with (
            suppress(OSError),
            # Nothing is sent: connecting a datagram socket only asks for the route.
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        ):
            probe.connect((host, port))
            return str(probe.getsockname()[0])
    return socket.gethostbyname(socket.gethostname())
