"""What `doctor` says of the cluster, by the answers of its pages; who asks is `doctor_cluster`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from audioloom_yarn_launcher.preflight.findings import Finding, cannot_tell, failure, ok, warning
from audioloom_yarn_launcher.rendezvous.resources import Resources

GPU = "yarn.io/gpu"
NO_PAGE = "no page of the ResourceManager answers (with Kerberos they need a ticket)"
_UNLIMITED = 1 << 31
_MENDED = {2: (2, 10, 2), 3: (3, 2, 3)}
_MENDED_LATER = {(3, 3): (3, 3, 2)}
_ASK = "Ask who runs the cluster."


def queue(scheduler: Mapping[str, Any] | None, name: str, asked: Resources) -> Finding:
    """Of the queue: whether it takes applications, and its largest container.

    Args:
        scheduler: the answer to `cluster/scheduler`.
        name: of the queue, or its whole path.
        asked: for a worker.
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


def gang(scheduler: Mapping[str, Any] | None, name: str, whole: Resources, label: str) -> Finding:
    """Of the most that the queue ever has, against all containers of the run together."""
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


def version(info: Mapping[str, Any] | None) -> Finding:
    """Of the cluster's Hadoop: whether it is one in which a user of YARN could become root.

    Args:
        info: the answer to `cluster/info`.
    """
    told = str(((info or {}).get("clusterInfo") or {}).get("hadoopVersion") or "")
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", told)
    if match is None:
        return cannot_tell("Hadoop", NO_PAGE)
    major, minor, patch = (int(each) for each in match.groups())
    mended = _MENDED_LATER.get((major, minor), _MENDED.get(major, (0, 0, 0)))
    if (major, minor, patch) < mended:
        text = f"{told}: a user of its YARN may become root on its nodes (CVE-2021-33036)"
        return warning(
            "Hadoop", text, "Ask who runs the cluster for 2.10.2, 3.2.3, 3.3.2 or newer."
        )
    return ok("Hadoop", told)


def nodes(answer: Mapping[str, Any] | None) -> Finding:
    """Of the nodes: how many work, and which do not and why.

    Args:
        answer: to `cluster/nodes`.
    """
    if answer is None:
        return cannot_tell("nodes", NO_PAGE)
    found = (answer.get("nodes") or {}).get("node") or []
    good = [each for each in found if each.get("state") == "RUNNING"]
    bad = [each for each in found if each.get("state") in ("UNHEALTHY", "LOST")]
    if not good:
        return failure("nodes", "none is at work", _ASK)
    if bad:
        told = ", ".join(_sick(each) for each in bad)
        return warning("nodes", f"{len(good)} at work, but {told}", _ASK)
    return ok("nodes", f"{len(good)} at work")


def gpus(answer: Mapping[str, Any] | None, asked: int) -> Finding:
    """Of the GPUs that nodes offer."""
    if answer is None:
        return cannot_tell("GPUs", NO_PAGE)
    found = (answer.get("nodes") or {}).get("node") or []
    offered = [_resources(each.get("totalResource")) for each in found]
    most = max((each.gpus for each in offered if each is not None), default=0)
    if asked > most:
        return failure("GPUs", f"a node has at most {most}, {asked} asked for", "Give less --gpus.")
    return ok("GPUs", f"a node has up to {most}, {asked} asked for")


def log_aggregation(value: str) -> Finding:
    """Of `yarn.log-aggregation-enable`; "" if nobody tells it."""
    mend = "What the application master says before it works is then on its node only; ask there."
    if not value:
        return cannot_tell("log aggregation", "neither yarn-site.xml nor the ResourceManager says")
    if value.lower() != "true":
        return warning("log aggregation", "off; the workers' own logs lie in the run folder", mend)
    return ok("log aggregation", "on: yarn logs -applicationId …")


def encryption(status: Mapping[str, Any] | None, root: str) -> Finding:
    """Of what the NameNode's page says of the folder that the root will lie in.

    Args:
        status: the answer to GETFILESTATUS, None if there is none.
        root: of the runs.
    """
    if not root.startswith("hdfs://"):
        return ok("encryption zone", f"{root} is not read by hdfs://")
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


def _find_queue(scheduler: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    info = ((scheduler or {}).get("scheduler") or {}).get("schedulerInfo") or {}
    return next(
        (each for each in _queues(info) if name in (each.get("queueName"), each.get("queuePath"))),
        None,
    )


def _queues(below: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for each in (below.get("queues") or {}).get("queue") or []:
        yield each
        yield from _queues(each)


def _resources(told: Mapping[str, Any] | None) -> Resources | None:
    if not told:
        return None
    more = (told.get("resourceInformations") or {}).get("resourceInformation") or []
    offered = sum(int(each["value"]) for each in more if each.get("name") == GPU)
    return Resources(int(told.get("memory", 0)), int(told.get("vCores", 0)), offered)


def _shown(most: Resources) -> str:
    if most.gpus < _UNLIMITED:
        return str(most)
    return f"{most.memory_mb} MiB, {most.vcores} vcores, any number of GPUs"


def _sick(node: Mapping[str, Any]) -> str:
    why = str(node.get("healthReport") or "no reason given").strip()
    return f"{node.get('nodeHostName')} is {str(node.get('state')).lower()} ({why})"
