"""The reason why YARN has not allocated a container, from its ResourceManager's answers alone.

The scheduler's own explanation comes late and names no resource. So the request is compared with
the free resources of the queue, the user and the nodes, by the scheduler's own numbers. Queues are
known for the Capacity Scheduler. For other schedulers only the nodes count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audioloom_hadoop.rest import queues, rows

NOT_TOLD = "the ResourceManager does not tell why"
NO_REASON = "the ResourceManager gives no reason"
NOTHING_ASKED = "the ResourceManager knows of no container that is still asked for"
_UNITS = {"memory-mb": "MiB", "vcores": "vcores", "yarn.io/gpu": "GPUs"}

Json = Mapping[str, Any]
Amounts = Mapping[str, int]
"""How much of each resource, by YARN's name of it."""


@dataclass(frozen=True)
class Answers:
    """The ResourceManager's answers to the requests of `why_not_allocated`; None without one."""

    application: Json | None
    nodes: Json | None = None
    scheduler: Json | None = None
    activities: Json | None = None


@dataclass(frozen=True)
class Request:
    """Containers that are requested and not allocated."""

    asked: Amounts
    count: int
    label: str


def explain_shortage(answers: Answers) -> str:
    """Explain in a sentence why an application's containers are not allocated."""
    application = (answers.application or {}).get("app")
    if not isinstance(application, Mapping):
        return NOT_TOLD
    request = _request(application)
    if request is None:
        return NOTHING_ASKED
    path = _path(answers.scheduler, str(application.get("queue", "")))
    reasons = [
        *_queue_limits(path, request),
        *_user_limit(path, request, str(application.get("user", ""))),
        *_full_nodes(answers.nodes, request),
    ]
    if not reasons:
        said = dict.fromkeys(_said(answers.activities))
        reasons = [f"the scheduler says: {each}" for each in said] or [NO_REASON]
    return f"{request.count} more of {_shown(request.asked)}: {'; '.join(reasons)}"


def _request(application: Json) -> Request | None:
    requests = [
        Request(
            amounts(each.get("capability")),
            int(each.get("numContainers", 0)),
            str(each.get("nodeLabelExpression") or ""),
        )
        for each in rows(application.get("resourceRequests"))
        if each.get("resourceName") == "*" and int(each.get("numContainers", 0)) > 0
    ]
    if not requests:
        return None
    total = sum(each.count for each in requests)
    largest = max(requests, key=lambda each: each.asked.get("memory-mb", 0))
    return Request(largest.asked, total, largest.label)


def _queue_limits(path: Sequence[Json], request: Request) -> Iterator[str]:
    """Name the queues, from the root to the application's, whose limit the request exceeds."""
    if path and request.label and not any(_most(path[-1], request.label).values()):
        name = path[-1].get("queueName")
        yield f"queue {name} has no share of the nodes with label {request.label}"
        return
    for queue in path[1:]:
        most = _most(queue, request.label)
        if most == _most(path[0], request.label):
            continue  # its limit is the whole cluster, so the nodes lack the rest
        if short := _short(request.asked, most, _used(queue, request.label)):
            yield f"queue {queue.get('queueName')} may have {short}"


def _user_limit(path: Sequence[Json], request: Request, user: str) -> Iterator[str]:
    """Name the user's limit if it is exceeded: YARN lets a user exceed it by one container."""
    if not path or request.label:
        return  # YARN does not show a user's limit for the nodes of a label
    for each in rows((path[-1].get("users") or {}).get("user")):
        limit, used = amounts(each.get("userResourceLimit")), _used(each, request.label)
        over = {name: 1 for name, most in limit.items() if used.get(name, 0) > most}
        if each.get("username") == user and (short := _short(over, limit, used)):
            yield f"one user, {user}, may have {short} of queue {path[-1].get('queueName')}"


def _full_nodes(nodes: Json | None, request: Request) -> Iterator[str]:
    if nodes is None:
        return
    every = rows((nodes.get("nodes") or {}).get("node"))
    at_work = [each for each in every if each.get("state") == "RUNNING"]
    fitting = [each for each in at_work if _labels(each) == request.label]
    which = f" with label {request.label}" if request.label else ""
    if not fitting:
        yield f"no node{which} is at work"
        return
    free = {str(each.get("nodeHostName")): _free(each) for each in fitting}
    asked = {name: amount for name, amount in request.asked.items() if amount}
    if not any(all(left.get(n, 0) >= a for n, a in asked.items()) for left in free.values()):
        short = [
            f"{_amount(name, amount)} free (the most is {most})"
            for name, amount in asked.items()
            if (most := max(left.get(name, 0) for left in free.values())) < amount
        ]
        lacks = " or ".join(short) or "all of that free at once"
        away = len(every) - len(at_work)
        besides = f", and {away} more are not at work" if away else ""
        yield f"none of {len(fitting)} nodes{which} has {lacks}{besides}"


def _said(activity: Any) -> Iterator[str]:
    if isinstance(activity, list):
        for each in activity:
            yield from _said(each)
    elif isinstance(activity, Mapping):
        said = activity.get("diagnostic")
        if isinstance(said, str) and said and "allocationState" in activity:
            yield said
        for each in activity.values():
            yield from _said(each)


def _path(scheduler: Json | None, name: str) -> list[dict[str, Any]]:
    """Return the queues from the root to the queue of that name or path; [] if it is unknown."""
    leaf = name.rpartition(".")[2]
    for path in queues(scheduler):
        found = path[-1].get("queueName") == leaf and not path[-1].get("queues")
        if found and path[0].get("type") == "capacityScheduler":
            return path
    return []


def _most(queue: Json, label: str) -> Amounts:
    capacities = rows((queue.get("capacities") or {}).get("queueCapacitiesByPartition"))
    return _of_label(capacities, label, "effectiveMaxResource")


def _used(owner: Json, label: str) -> Amounts:
    usages = rows((owner.get("resources") or {}).get("resourceUsagesByPartition"))
    return _of_label(usages, label, "used") or amounts(owner.get("resourcesUsed"))


def _of_label(found: Sequence[Json], label: str, what: str) -> Amounts:
    labelled = [each for each in found if (each.get("partitionName") or "") == label]
    return amounts(labelled[0].get(what)) if labelled else {}


def _short(asked: Amounts, most: Amounts, used: Amounts) -> str:
    return " and ".join(
        f"{_amount(name, most[name])} and has {used.get(name, 0)}"
        for name, amount in asked.items()
        if amount and name in most and used.get(name, 0) + amount > most[name]
    )


def _free(node: Json) -> Amounts:
    free = amounts(node.get("availableResource"))
    return free or {
        "memory-mb": int(node.get("availMemoryMB", 0)),
        "vcores": int(node.get("availableVirtualCores", 0)),
    }


def _labels(node: Json) -> str:
    found = node.get("nodeLabels") or ""
    return str(found[0]) if isinstance(found, list) else str(found)


def amounts(resource: Any) -> Amounts:
    """Read the amounts of a resource, in the form of any release; {} if it is none."""
    if not isinstance(resource, Mapping):
        return {}
    named_rows = rows((resource.get("resourceInformations") or {}).get("resourceInformation"))
    if named_rows:
        return {str(each.get("name")): int(each.get("value", 0)) for each in named_rows}
    named = {"memory-mb": resource.get("memory"), "vcores": resource.get("vCores")}
    return {name: int(value) for name, value in named.items() if value is not None}


def _shown(amounts: Amounts) -> str:
    return ", ".join(_amount(name, amount) for name, amount in amounts.items() if amount)


def _amount(name: str, amount: int) -> str:
    return f"{amount} {_UNITS.get(name, name)}"
