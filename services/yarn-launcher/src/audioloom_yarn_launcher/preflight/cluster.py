"""The checks of the cluster: its daemons by their ports and pages, its queues, nodes and tokens."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from audioloom_hadoop import rest
from audioloom_hadoop.configuration import Hadoop
from audioloom_stage.checks import CheckResult, cannot_tell, failure, ok, warning
from audioloom_storage import Location

from audioloom_yarn_launcher.preflight.local import has_kerberos
from audioloom_yarn_launcher.rendezvous.limits import Resources, in_all
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.yarn.application_spec import Shape
from audioloom_yarn_launcher.yarn.configuration import check_default_system, check_reachable
from audioloom_yarn_launcher.yarn.resource_manager import ask
from audioloom_yarn_launcher.yarn.scheduling import amounts

AGGREGATION = "yarn.log-aggregation-enable"
_HTTP_ADDRESS = "dfs.namenode.http-address"
GPU = "yarn.io/gpu"
NO_PAGE = "no page of the ResourceManager answers (with Kerberos they need a ticket)"
_UNLIMITED = 1 << 31
_MENDED = {2: (2, 10, 2), 3: (3, 2, 3)}
_ASK = "Ask who runs the cluster."
HOUR_MS = 3_600_000
LIFETIME = "dfs.namenode.delegation.token.max-lifetime"
ALWAYS = "dfs.namenode.delegation.token.always-use"


def resource_manager(hadoop: Hadoop) -> CheckResult:
    """Check that the ResourceManager listens."""
    check_reachable(hadoop)
    return ok("ResourceManager", ", ".join(f"{host}:{port}" for host, port in hadoop.managers))


def default_system(hadoop: Hadoop) -> CheckResult:
    """Check that YARN's default file system answers."""
    check_default_system(hadoop)
    return ok("NameNode", f"{hadoop.value('fs.defaultFS')} answers")


def replication(hadoop: Hadoop) -> CheckResult:
    """Check that HDFS keeps more than one copy of a new file."""
    copies = hadoop.value("dfs.replication")
    if copies == "1":
        text = "one copy of each file: each close takes half a second, and a lost disk loses it"
        return warning("replication", text, "Set dfs.replication to 2 or 3 in HADOOP_CONF_DIR.")
    return ok("replication", f"{copies or 'the default number of'} copies of each file")


def queue(shape: Shape, workers: int) -> Iterator[CheckResult]:
    """Check the queue, its largest container, and its capacity for the whole run."""
    found = ask("cluster/scheduler")
    worker, master = shape.roles[WORKER], shape.coordinator
    yield check_queue(found, shape.queue, worker)
    whole = in_all([(workers, worker), (1, master)])
    yield check_gang(found, shape.queue, whole, shape.node_label)


def nodes(shape: Shape) -> Iterator[CheckResult]:
    """Check the Hadoop version of the cluster, the health of its nodes, and their GPUs."""
    yield check_version(ask("cluster/info"))
    found = ask("cluster/nodes")
    yield check_nodes(found)
    yield check_gpus(found, shape.roles[WORKER].gpus)


def log_aggregation(hadoop: Hadoop) -> CheckResult:
    """Check that YARN keeps the logs of containers."""
    told = _property(hadoop.pages, AGGREGATION) or hadoop.value(AGGREGATION)
    hint = "What the application master says before it works is then on its node only; ask there."
    if not told:
        return cannot_tell("log aggregation", "neither yarn-site.xml nor the ResourceManager says")
    if told.lower() != "true":
        return warning("log aggregation", "off; the workers' own logs lie in the run folder", hint)
    return ok("log aggregation", "on: yarn logs -applicationId …")


def tokens(hadoop: Hadoop, planned_s: float | None) -> CheckResult:
    """Check how long containers may read HDFS against the planned seconds of the run."""
    pages = name_node_pages(hadoop, "")
    always, lifetime = (_property(pages, name) or hadoop.value(name) for name in (ALWAYS, LIFETIME))
    if not has_kerberos(hadoop) and always.lower() != "true":
        return ok("tokens", "none are needed: the cluster has no Kerberos")
    if not lifetime.isdecimal():
        return cannot_tell("tokens", f"nobody says how long they live ({LIFETIME})")
    hours = int(lifetime) / HOUR_MS
    hint = (
        f"End the run before {hours:g} h are over and give the same command again: it goes on from"
        " its last checkpoint with new tokens."
    )
    if planned_s is None:
        text = f"they live {hours:g} h, and nobody said how long the run takes"
        return cannot_tell("tokens", text, "Give --planned-duration.")
    text = f"they live {hours:g} h, {planned_s / 3600:g} h are planned"
    return failure("tokens", text, hint) if planned_s >= 3600 * hours else ok("tokens", text)


def encryption(hadoop: Hadoop, root: Location) -> CheckResult:
    """Check the root, or its nearest existing parent, for an encryption zone."""
    if root.scheme != "hdfs":
        return ok("encryption zone", f"{root} is not read by hdfs://")
    pages, place = name_node_pages(hadoop, root.authority), PurePosixPath(root.path)
    for path in (place, *place.parents):
        status = rest.ask(pages, f"/webhdfs/v1{quote(str(path))}?op=GETFILESTATUS")
        if status:
            break
    found = (status or {}).get("FileStatus")
    if found is None:
        return cannot_tell(
            "encryption zone",
            "the NameNode's page does not say",
            "If hdfs crypto -listZones names the root: give it as webhdfs://, or take another.",
        )
    if found.get("encBit"):
        text = f"{root} lies in one, which hdfs:// cannot read here"
        return failure("encryption zone", text, "Give the root as webhdfs://, or another one.")
    return ok("encryption zone", f"{root} lies in none")


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


def check_queue(scheduler: Mapping[str, Any] | None, name: str, asked: Resources) -> CheckResult:
    """Check that the queue takes applications and that its largest container fits a worker.

    A queue is named by its name or its whole path.
    """
    found = _find_queue(scheduler, name)
    if found is None:
        return cannot_tell("queue", f"{NO_PAGE}, or it tells of no queue {name}")
    if found.get("state") == "STOPPED":
        return failure("queue", f"{name} takes no applications", "Give another --queue.")
    most = _resources(found.get("maximumAllocation"))
    if most is None:
        return cannot_tell("queue", f"{name} does not tell its largest container")
    if not asked.fits(most):
        text = f"{name} gives at most {_shown(most)} in a container, and {asked} is asked for"
        return failure("queue", text, "Ask for less with --memory, --vcores or --gpus.")
    return ok("queue", f"{name} gives up to {_shown(most)} in a container; asked for: {asked}")


def check_gang(
    scheduler: Mapping[str, Any] | None, name: str, whole: Resources, label: str
) -> CheckResult:
    """Check the queue's maximum capacity against all containers of the run together."""
    found = _find_queue(scheduler, name)
    most = _resources((found or {}).get("maxEffectiveCapacity"))
    if most is None or not most.memory_mb:
        return cannot_tell("whole gang", "the queue does not tell the most that it may have")
    if label:
        return cannot_tell("whole gang", f"of nodes with the label {label} the queue does not tell")
    if not whole.fits(most):
        text = f"the queue {name} never has more than {most}, and all together need {whole}"
        return failure("whole gang", text, "Ask for less, for fewer --workers, or another --queue.")
    return ok("whole gang", f"{whole} of the {most} that the queue may have")


def queue_share(
    scheduler: Mapping[str, Any] | None, name: str, whole: Resources
) -> tuple[float, float] | None:
    """The share of the most that a queue may have: of the whole run, and in use now.

    It is that of memory or of vcores, whichever is larger. None if the queue does not tell.
    """
    found = _find_queue(scheduler, name) or {}
    most = _resources(found.get("maxEffectiveCapacity"))
    if most is None or not most.memory_mb or not most.vcores:
        return None
    used = _resources(found.get("resourcesUsed")) or Resources(0, 0)
    asked, taken = (
        max(each.memory_mb / most.memory_mb, each.vcores / most.vcores) for each in (whole, used)
    )
    return asked, taken


def check_version(info: Mapping[str, Any] | None) -> CheckResult:
    """Check for a Hadoop version in which a user of YARN could become root."""
    told = str(((info or {}).get("clusterInfo") or {}).get("hadoopVersion") or "")
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", told)
    if match is None:
        return cannot_tell("Hadoop", NO_PAGE)
    major, minor, patch = (int(each) for each in match.groups())
    mended = (3, 3, 2) if (major, minor) == (3, 3) else _MENDED.get(major, (0, 0, 0))
    if (major, minor, patch) < mended:
        text = f"{told}: a user of its YARN may become root on its nodes (CVE-2021-33036)"
        return warning(
            "Hadoop", text, "Ask who runs the cluster for 2.10.2, 3.2.3, 3.3.2 or newer."
        )
    return ok("Hadoop", told)


def check_nodes(answer: Mapping[str, Any] | None) -> CheckResult:
    """Count the nodes that work, and name the others with the reason."""
    if answer is None:
        return cannot_tell("nodes", NO_PAGE)
    found = rest.rows((answer.get("nodes") or {}).get("node"))
    good = [each for each in found if each.get("state") == "RUNNING"]
    bad = [each for each in found if each.get("state") in ("UNHEALTHY", "LOST")]
    if not good:
        return failure("nodes", "none is at work", _ASK)
    if bad:
        told = ", ".join(_sick(each) for each in bad)
        return warning("nodes", f"{len(good)} at work, but {told}", _ASK)
    return ok("nodes", f"{len(good)} at work")


def check_gpus(answer: Mapping[str, Any] | None, asked: int) -> CheckResult:
    """Check the GPUs that nodes offer."""
    if answer is None:
        return cannot_tell("GPUs", NO_PAGE)
    found = rest.rows((answer.get("nodes") or {}).get("node"))
    offered = [_resources(each.get("totalResource")) for each in found]
    most = max((each.gpus for each in offered if each is not None), default=0)
    if asked > most:
        return failure(
            "GPUs", f"a node has at most {most}, {asked} asked for", "Give fewer --gpus."
        )
    return ok("GPUs", f"a node has up to {most}, {asked} asked for")


def _find_queue(scheduler: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    every = (path[-1] for path in rest.queues(scheduler))
    return next((q for q in every if name in (q.get("queueName"), q.get("queuePath"))), None)


def _resources(told: Any) -> Resources | None:
    found = amounts(told)
    if not found:
        return None
    return Resources(found.get("memory-mb", 0), found.get("vcores", 0), found.get(GPU, 0))


def _shown(most: Resources) -> str:
    if most.gpus < _UNLIMITED:
        return str(most)
    return f"{most.memory_mb} MiB, {most.vcores} vcores, any number of GPUs"


def _sick(node: Mapping[str, Any]) -> str:
    why = str(node.get("healthReport") or "no reason given").strip()
    return f"{node.get('nodeHostName')} is {str(node.get('state')).lower()} ({why})"
