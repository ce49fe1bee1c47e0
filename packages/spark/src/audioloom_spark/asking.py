"""Whether the cluster can give what is asked for, by the ResourceManager's own pages.

Looked at before anything is shipped or started: Spark finds out later and says it at length. Where
the pages do not answer us (a cluster with Kerberos wants more than a plain request), YARN itself
has the last word.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from audioloom_spark.errors import BadRequest

__all__ = ["check_queue", "check_size"]

_SECONDS = 5.0
_MOST_BYTES = 64 << 20


def check_size(pages: Sequence[str], *, memory: int, cores: int) -> None:
    """See that some node is large enough for an executor.

    Args:
        pages: of the ResourceManagers.
        memory: bytes of an executor's container.
        cores: of an executor.

    Raises:
        BadRequest: none is; the largest are named.
    """
    nodes = [node for node in _nodes(pages) if node.get("state") == "RUNNING"]
    if not nodes:
        return
    sizes = [(_megabytes(node), _cores(node)) for node in nodes]
    largest, most = max(size for size, _ in sizes), max(count for _, count in sizes)
    if memory >> 20 > largest:
        raise BadRequest(
            "No node has the memory for an executor.",
            expected=f"--executor-memory of at most {largest} MiB",
            found=f"{memory >> 20} MiB",
            where=pages[0],
        )
    if cores > most:
        raise BadRequest(
            "No node has the cores for an executor.",
            expected=f"--executor-cores of at most {most}",
            found=cores,
            where=pages[0],
        )


def check_queue(pages: Sequence[str], queue: str) -> None:
    """See that a queue of that name takes applications.

    Raises:
        BadRequest: none does; those that do are named.
    """
    answer = _get(pages, "/ws/v1/cluster/scheduler")
    try:
        leaves = list(_leaves(answer["scheduler"]["schedulerInfo"]))
    except (KeyError, TypeError):
        return  # a scheduler that describes itself in another way
    known = {name for leaf in leaves for name in leaf}
    if known and queue not in known and "root." + queue not in known:
        raise BadRequest(
            "No queue of that name takes applications.",
            expected=f"--queue with one of {', '.join(sorted(leaf[0] for leaf in leaves))}",
            found=queue,
            where=pages[0],
        )


def _leaves(info: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for queue in info["queues"]["queue"]:
        if (queue.get("queues") or {}).get("queue"):
            yield from _leaves(queue)
        else:
            yield tuple(queue[key] for key in ("queueName", "queuePath") if queue.get(key))


def _nodes(pages: Sequence[str]) -> list[dict[str, Any]]:
    answer = _get(pages, "/ws/v1/cluster/nodes")
    try:
        return list(answer["nodes"]["node"])
    except (KeyError, TypeError):
        return []


def _megabytes(node: Mapping[str, Any]) -> int:
    return int(node.get("usedMemoryMB", 0)) + int(node.get("availMemoryMB", 0))


def _cores(node: Mapping[str, Any]) -> int:
    return int(node.get("usedVirtualCores", 0)) + int(node.get("availableVirtualCores", 0))


def _get(pages: Sequence[str], path: str) -> Any:
    """What the first page that answers says, or None."""
    # Never through a proxy: the cluster is not on its other side.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for page in pages:
        request = urllib.request.Request(page + path, headers={"Accept": "application/json"})  # noqa: S310 - http or https, see `pages`
        try:
            with opener.open(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read(_MOST_BYTES))
        except (OSError, ValueError):
            continue
    return None
