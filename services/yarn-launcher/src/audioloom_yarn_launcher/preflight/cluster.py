"""`doctor` asks the cluster: its daemons, by their ports and by their pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from audioloom_hadoop import rest
from audioloom_storage import Location, exists

from audioloom_yarn_launcher.preflight import cluster_checks, security_checks
from audioloom_yarn_launcher.preflight.findings import Finding, ok
from audioloom_yarn_launcher.preflight.local import has_kerberos
from audioloom_yarn_launcher.rendezvous.resources import Resources
from audioloom_yarn_launcher.yarn.application_spec import Shape
from audioloom_yarn_launcher.yarn.configuration import Hadoop, check_reachable
from audioloom_yarn_launcher.yarn.default_file_system import check_default_system
from audioloom_yarn_launcher.yarn.resource_manager import ask

AGGREGATION = "yarn.log-aggregation-enable"
_HTTP_ADDRESS = "dfs.namenode.http-address"


def resource_manager(hadoop: Hadoop) -> Finding:
    """Whether one listens."""
    check_reachable(hadoop)
    return ok("ResourceManager", ", ".join(f"{host}:{port}" for host, port in hadoop.managers))


def default_system(hadoop: Hadoop) -> Finding:
    """Whether the file system that YARN works with answers."""
    check_default_system(hadoop)
    return ok("NameNode", f"{hadoop.value('fs.defaultFS')} answers")


def root_storage(root: Location) -> Finding:
    """Whether the root's storage answers."""
    there = exists(root)
    return ok("root", f"{root} {'is there' if there else 'will be made'}")


def queue(hadoop: Hadoop, shape: Shape, workers: int) -> Iterator[Finding]:
    """The queue, its largest container, and all of it."""
    found = ask(hadoop, "cluster/scheduler")
    worker, master = shape.worker, shape.coordinator
    whole = Resources(
        worker.memory_mb * workers + master.memory_mb,
        worker.vcores * workers + master.vcores,
        worker.gpus * workers,
    )
    yield cluster_checks.queue(found, shape.queue, worker)
    yield cluster_checks.gang(found, shape.queue, whole, shape.node_label)


def nodes(hadoop: Hadoop, shape: Shape) -> Iterator[Finding]:
    """What they run, whether they work, and their GPUs."""
    yield cluster_checks.version(ask(hadoop, "cluster/info"))
    found = ask(hadoop, "cluster/nodes")
    yield cluster_checks.nodes(found)
    yield cluster_checks.gpus(found, shape.worker.gpus)


def log_aggregation(hadoop: Hadoop) -> Finding:
    """Whether logs of containers are kept."""
    told = _property(hadoop.pages, AGGREGATION) or hadoop.value(AGGREGATION)
    return cluster_checks.log_aggregation(told)


def tokens(hadoop: Hadoop, planned_hours: float | None) -> Finding:
    """How long containers may read HDFS."""
    pages = name_node_pages(hadoop, "")
    always, lifetime = (
        _property(pages, name) or hadoop.value(name)
        for name in (security_checks.ALWAYS, security_checks.LIFETIME)
    )
    return security_checks.token_lifetime(
        kerberos=has_kerberos(hadoop),
        always=always,
        lifetime_ms=lifetime,
        planned_hours=planned_hours,
    )


def encryption(hadoop: Hadoop, root: Location) -> Finding:
    """Whether the root lies in an encryption zone; of one that is not there yet, its parents."""
    status, path = None, root.path
    pages = name_node_pages(hadoop, root.authority) if root.scheme == "hdfs" else ()
    while pages and not status:
        status = rest.ask(pages, f"/webhdfs/v1{quote(path)}?op=GETFILESTATUS")
        if path == "/":
            break
        path = path.rpartition("/")[0] or "/"
    return cluster_checks.encryption(status or None, root.uri)


def name_node_pages(hadoop: Hadoop, authority: str) -> tuple[str, ...]:
    """The web addresses of the NameNodes of an HDFS, "" for the default one; none if not known."""
    default = re.sub("^hdfs://|/.*$", "", hadoop.value("fs.defaultFS"))
    service = authority or default
    ids = [each.strip() for each in hadoop.value(f"dfs.ha.namenodes.{service}").split(",")]
    names = [f"{_HTTP_ADDRESS}.{service}.{each}" for each in ids if each]
    if service == default:
        names.append(_HTTP_ADDRESS)
    return tuple(f"http://{hadoop.value(name)}" for name in names if hadoop.value(name))


def _property(pages: tuple[str, ...], name: str) -> str:
    found = (rest.ask(pages, f"/conf?name={quote(name)}") or {}).get("property")
    return str(found.get("value") or "") if isinstance(found, dict) else ""
