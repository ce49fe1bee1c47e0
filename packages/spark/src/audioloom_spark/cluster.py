"""Check that the cluster of HADOOP_CONF_DIR answers and can give the requested resources.

The checks come before anything is shipped or started, because they fail in seconds and Spark's
client would try for minutes. Where the ResourceManager's pages do not answer (Kerberos needs more
than a plain request), YARN itself decides.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from audioloom_hadoop.configuration import Address, Hadoop, NotConfigured, find_hadoop, unreachable
from audioloom_hadoop.rest import ask, queues, rows
from audioloom_stage.errors import BadConfiguration, ServiceDown

_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")  # as in Spark
_SECONDS = 5.0


def read_conf(environment: Mapping[str, str] = os.environ) -> Hadoop:
    """Read the cluster's configuration; BadConfiguration if no variable leads to one."""
    try:
        return find_hadoop(environment, variables=_VARIABLES)
    except NotConfigured as error:
        raise BadConfiguration("Spark does not know the cluster.", **vars(error)) from error


def check_cluster(*, memory: int, cores: int, queue: str | None) -> Hadoop:
    """Check that the cluster answers and can give executors of a size; return its configuration.

    Args:
        memory: bytes of an executor.
        cores: of an executor.
        queue: the queue of the application, if not that of the cluster's choice.
    """
    conf = read_conf()
    check_answers("ResourceManager", conf.managers, "yarn.resourcemanager.address")
    check_answers("NameNode", conf.name_nodes, "fs.defaultFS")
    check_size(conf.pages, memory=memory, cores=cores)
    if queue is not None:
        check_queue(conf.pages, queue)
    return conf


def check_answers(what: str, addresses: Sequence[Address], setting: str) -> None:
    """Check that one of these addresses, if there are any, answers; ServiceDown if not."""
    refusals = unreachable(addresses, _SECONDS)
    if refusals:
        raise ServiceDown(
            f"No {what} answers.",
            found=refusals,
            hint=f"See that it runs, and that {setting} in HADOOP_CONF_DIR is right.",
        )


def local_address(addresses: Sequence[Address]) -> str:
    """Return the address of this machine that leads to the first reachable of these addresses."""
    for host, port in addresses:
        with (
            suppress(OSError),
            # Nothing is sent: connecting a datagram socket only looks up the route.
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        ):
            probe.connect((host, port))
            return str(probe.getsockname()[0])
    return socket.gethostbyname(socket.gethostname())


def check_size(pages: Sequence[str], *, memory: int, cores: int) -> None:
    """Check that some node is large enough for an executor: bytes of memory, and cores.

    A BadConfiguration names the largest.
    """
    answer = _ask(pages, "nodes").get("nodes") or {}
    nodes = [node for node in rows(answer.get("node")) if node.get("state") == "RUNNING"]
    if not nodes:
        return
    most_memory = max(_total(node, "usedMemoryMB", "availMemoryMB") for node in nodes)
    most_cores = max(_total(node, "usedVirtualCores", "availableVirtualCores") for node in nodes)
    for what, asked, most, unit in (
        ("memory", memory >> 20, most_memory, " MiB"),
        ("cores", cores, most_cores, ""),
    ):
        if asked > most:
            raise BadConfiguration(
                f"No node has the {what} for an executor.",
                expected=f"--executor-{what} of at most {most}{unit}",
                found=f"{asked}{unit}",
                where=pages[0],
            )


def check_queue(pages: Sequence[str], queue: str) -> None:
    """Check that a queue of that name accepts applications.

    A BadConfiguration names the queues that do.
    """
    scheduler = _ask(pages, "scheduler")
    paths = [path for path in queues(scheduler) if path[1:] and not path[-1].get("queues")]
    leaves = [path[-1] for path in paths]
    names = sorted(leaf["queueName"] for leaf in leaves)
    known = {leaf[key] for leaf in leaves for key in ("queueName", "queuePath") if key in leaf}
    if known and queue not in known and "root." + queue not in known:
        raise BadConfiguration(
            "No queue of that name takes applications.",
            expected=f"--queue with one of {', '.join(names)}",
            found=queue,
            where=pages[0],
        )


def _total(node: Mapping[str, Any], used: str, free: str) -> int:
    return int(node.get(used, 0)) + int(node.get(free, 0))


def _ask(pages: Sequence[str], what: str) -> dict[str, Any]:
    return ask(pages, f"/ws/v1/cluster/{what}", within_s=_SECONDS) or {}
