"""Which daemons there are, where each listens, and what its configuration says.

The masters share one loopback address, each worker node has its own: a client that takes one
address for another, or its own for a worker's, fails here as it would on a cluster.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from audioloom_mini_cluster.errors import NotReady

MASTER = "127.0.0.2"
NAMESERVICE = "mini"
_HDFS = ("namenode", "datanode")
_CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST, _TRIES = 10_000, 1000

Properties = Mapping[str, str | int]


@dataclass(frozen=True)
class Size:
    """What the worker nodes offer, how large blocks are, whether there are delegation tokens.

    *small_queue*: percent of the cluster for a queue `small`; with 0 there is none.
    *token_seconds*: within how long a token has to be renewed; with 0, a day.
    *yarn*: whether there are a ResourceManager and NodeManagers.
    """

    nodes: int = 2
    memory_mb: int = 6144
    vcores: int = 8
    gpus: int = 2
    block_mb: int = 16
    tokens: bool = False
    token_seconds: int = 0
    small_queue: int = 0
    yarn: bool = True


@dataclass(frozen=True)
class Daemon:
    """One JVM.

    Args:
        name: `namenode`, `datanode-1`, …
        program: its main class.
        heap_mb: most that its heap takes.
        conf: its configuration files, by name.
    """

    name: str
    program: str
    heap_mb: int
    conf: Mapping[str, Properties] = field(repr=False)


@dataclass(frozen=True)
class Layout:
    """The whole cluster."""

    namenode: str
    namenode_page: str
    resourcemanager_page: str
    nodes: tuple[str, ...]
    daemons: tuple[Daemon, ...]
    client: Mapping[str, Properties] = field(repr=False)


def free_ports(address: str, count: int) -> list[int]:
    """Ports on which nothing listens now, none of which the kernel gives to a connection later."""
    first_of_connections = int(_CONNECTIONS.read_text().split()[0])
    end = max(first_of_connections, _FIRST + 2 * _TRIES)
    ports: list[int] = []
    for port in random.sample(range(_FIRST, end), k=_TRIES):
        with socket.socket() as one, suppress(OSError):
            one.bind((address, port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise NotReady(f"expected {count} free ports at {address}, found {len(ports)}")


def lay_out(folder: Path, jars: Path, size: Size) -> Layout:
    """Choose addresses and ports, and write down every property of every daemon."""
    rpc, page, *manager = free_ports(MASTER, 7)
    nodes = tuple(f"127.0.0.{11 + number}" for number in range(size.nodes))
    core: Properties = {
        "fs.defaultFS": f"hdfs://{MASTER}:{rpc}",
        "hadoop.tmp.dir": f"{folder}/scratch",
        "ipc.client.connect.max.retries": 3,
    }
    hdfs = _hdfs(folder, rpc, page, size)
    yarn = _yarn(folder, jars, manager, size)
    logical: Properties = {  # as clients of a cluster with two NameNodes name it
        "dfs.nameservices": NAMESERVICE,
        f"dfs.ha.namenodes.{NAMESERVICE}": "one",
        f"dfs.namenode.rpc-address.{NAMESERVICE}.one": f"{MASTER}:{rpc}",
        f"dfs.client.failover.proxy.provider.{NAMESERVICE}": "org.apache.hadoop.hdfs.server"
        ".namenode.ha.ConfiguredFailoverProxyProvider",
    }
    client: dict[str, Properties] = {
        "core-site.xml": core,
        "hdfs-site.xml": {**hdfs, **logical},
        "yarn-site.xml": yarn,
        "resource-types.xml": {"yarn.resource-types": "yarn.io/gpu"},
    }
    base = {**client, "hdfs-site.xml": hdfs}
    server = "org.apache.hadoop.yarn.server"
    daemons = [
        Daemon("namenode", "org.apache.hadoop.hdfs.server.namenode.NameNode", 256, base),
        Daemon(
            "resourcemanager",
            f"{server}.resourcemanager.ResourceManager",
            384,
            {**client, "capacity-scheduler.xml": _scheduler(size.small_queue)},
        ),
    ]
    for number, address in enumerate(nodes, start=1):
        here = folder / f"node-{number}"
        daemons += [
            Daemon(
                f"datanode-{number}",
                "org.apache.hadoop.hdfs.server.datanode.DataNode",
                160,
                {**base, "hdfs-site.xml": {**hdfs, **_datanode(here, address)}},
            ),
            Daemon(
                f"nodemanager-{number}",
                f"{server}.nodemanager.NodeManager",
                224,
                {
                    **client,
                    "yarn-site.xml": {**yarn, **_nodemanager(here, address)},
                    "node-resources.xml": {
                        "yarn.nodemanager.resource-type.yarn.io/gpu": size.gpus,
                    },
                },
            ),
        ]
    return Layout(
        namenode=f"hdfs://{MASTER}:{rpc}",
        namenode_page=f"http://{MASTER}:{page}",
        resourcemanager_page=f"http://{MASTER}:{manager[4]}" if size.yarn else "",
        nodes=nodes,
        daemons=tuple(each for each in daemons if size.yarn or each.name.startswith(_HDFS)),
        client=client,
    )


def _hdfs(folder: Path, rpc: int, page: int, size: Size) -> Properties:
    return {
        # A NameNode looks for disks with room for a whole block, whatever the file's size.
        "dfs.blocksize": size.block_mb << 20,
        "dfs.namenode.delegation.token.always-use": "true" if size.tokens else "false",
        "dfs.namenode.delegation.token.renew-interval": (size.token_seconds or 86_400) * 1000,
        "dfs.replication": min(2, size.nodes),
        "dfs.namenode.name.dir": f"file://{folder}/namenode/data",
        "dfs.namenode.rpc-address": f"{MASTER}:{rpc}",
        "dfs.namenode.http-address": f"{MASTER}:{page}",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": 1024,
        "dfs.namenode.safemode.extension": 0,
        "dfs.namenode.replication.min": 1,
        # Every connection comes from 127.0.0.1, so that is what the NameNode sees of a DataNode:
        # the name that it gives itself has to count.
        "dfs.client.use.datanode.hostname": "true",
        "dfs.datanode.use.datanode.hostname": "true",
        "dfs.heartbeat.interval": 1,  # a lost node is noticed in 16 s, not in ten minutes
        "dfs.namenode.heartbeat.recheck-interval": 3000,
    }


def _datanode(here: Path, address: str) -> Properties:
    data, page, ipc = free_ports(address, 3)
    return {
        "dfs.datanode.data.dir": f"file://{here}/blocks",
        "dfs.datanode.hostname": address,
        "dfs.datanode.address": f"{address}:{data}",
        "dfs.datanode.http.address": f"{address}:{page}",
        "dfs.datanode.ipc.address": f"{address}:{ipc}",
    }


def _yarn(folder: Path, jars: Path, manager: list[int], size: Size) -> Properties:
    names = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
    listens = {
        f"yarn.resourcemanager.{name}": f"{MASTER}:{port}"
        for name, port in zip((*names, "webapp.address"), manager, strict=True)
    }
    return {
        **listens,
        "yarn.resourcemanager.hostname": MASTER,
        "yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager"
        ".scheduler.capacity.CapacityScheduler",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
        # Else a folder in /tmp that stays, and that all clusters of a user share.
        "yarn.node-attribute.fs-store.root-dir": f"file://{folder}/resourcemanager/attributes",
        "yarn.nm.liveness-monitor.expiry-interval-ms": 10_000,
        # Counted from the allocation: the first use of a large environment is unpacked in it.
        "yarn.am.liveness-monitor.expiry-interval-ms": 120_000,
        "yarn.application.classpath": f"{folder}/conf,{jars}/*",
        "yarn.scheduler.minimum-allocation-mb": 128,
        "yarn.scheduler.maximum-allocation-mb": size.memory_mb,
        "yarn.scheduler.maximum-allocation-vcores": size.vcores,
        "yarn.nodemanager.resource.memory-mb": size.memory_mb,
        "yarn.nodemanager.resource.cpu-vcores": size.vcores,
        "yarn.nodemanager.pmem-check-enabled": "true",  # a container over its memory is killed
        "yarn.nodemanager.resource.memory.enforced": "false",  # by cgroups that are not there
        "yarn.nodemanager.vmem-check-enabled": "false",  # TensorFlow maps far more than it uses
        "yarn.nodemanager.container-monitor.interval-ms": 1000,
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # Asked once when a node starts, checker or not: a disk that is 90 % full is a disk lost.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.nodemanager.heartbeat.interval-ms": 200,
        "yarn.nodemanager.sleep-delay-before-sigkill.ms": 2000,
        "yarn.nodemanager.delete.debug-delay-sec": 120,
        "yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,PATH,LANG,TZ",
        "yarn.nodemanager.remote-app-log-dir": "/yarn-logs",
        "yarn.log-aggregation-enable": "true",
    }


def _nodemanager(here: Path, address: str) -> Properties:
    own, localizer, page, collector = free_ports(address, 4)
    return {
        "yarn.nodemanager.hostname": address,
        "yarn.nodemanager.address": f"{address}:{own}",
        "yarn.nodemanager.localizer.address": f"{address}:{localizer}",
        "yarn.nodemanager.webapp.address": f"{address}:{page}",
        "yarn.nodemanager.collector-service.address": f"{address}:{collector}",
        "yarn.nodemanager.local-dirs": f"{here}/local",
        "yarn.nodemanager.log-dirs": f"{here}/logs",
    }


def _scheduler(small: int) -> Properties:
    root = "yarn.scheduler.capacity.root"
    queues: Properties = {f"{root}.queues": "default", f"{root}.default.capacity": 100}
    if small:
        queues = {
            f"{root}.queues": "default,small",
            f"{root}.default.capacity": 100 - small,
            f"{root}.default.user-limit-factor": 100,  # else one user gets no more than its share
            f"{root}.small.capacity": small,
            f"{root}.small.maximum-capacity": small,
        }
    return {
        **queues,
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
        "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource"
        ".DominantResourceCalculator",  # the other one knows of memory alone
    }


_LOGGING = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""


def write_conf(folder: Path, conf: Mapping[str, Properties], *, level: str = "INFO") -> None:
    """Write Hadoop's XML files, and where its logs go."""
    folder.mkdir(parents=True)
    for name, properties in conf.items():
        lines = (
            f"  <property><name>{key}</name><value>{escape(str(value))}</value></property>\n"
            for key, value in properties.items()
        )
        (folder / name).write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")
    (folder / "log4j.properties").write_text(_LOGGING.replace("INFO", level))
