"""Why a container was not given, from answers in the form that Hadoop 3.4.3 gave them in."""

from typing import Any

import pytest
from audioloom_yarn_launcher.yarn import resource_manager
from audioloom_yarn_launcher.yarn.resource_manager import why_not_allocated
from audioloom_yarn_launcher.yarn.scheduling import NOT_TOLD, Answers, explain_shortage

HEADROOM = "Queue does not have enough headroom for inner highest-priority request"
WAITING = {"appActivities": {"diagnostic": "waiting for display"}}
SAID = {
    "appActivities": {
        "allocations": [
            {
                "queueName": "default",
                "allocationState": "SKIPPED",
                "children": [{"allocationState": "REJECTED", "diagnostic": HEADROOM}] * 2,
            }
        ]
    }
}


def amounts(memory: int, vcores: int, gpus: int = 0) -> dict[str, Any]:
    named = {"memory-mb": memory, "vcores": vcores, "yarn.io/gpu": gpus}
    rows = [{"name": name, "value": value} for name, value in named.items()]
    informations = {"resourceInformation": rows}
    return {"memory": memory, "vCores": vcores, "resourceInformations": informations}


def app(asked: dict[str, Any], *, label: str = "", count: int = 2) -> dict[str, Any]:
    request = {"capability": asked, "nodeLabelExpression": label}
    rows = [
        {**request, "resourceName": "*", "numContainers": count},
        {**request, "resourceName": "node-1", "numContainers": 9},
    ]
    return {"app": {"user": "me", "queue": "root.small", "resourceRequests": rows}}


def nodes(*free: dict[str, Any], **more: Any) -> dict[str, Any]:
    rows = [
        {"nodeHostName": f"node-{n}", "state": "RUNNING", "availableResource": each, **more}
        for n, each in enumerate(free, start=1)
    ]
    return {"nodes": {"node": rows}}


def queue(
    name: str, most: dict[str, Any], used: dict[str, Any], label: str = "", **more: Any
) -> dict[str, Any]:
    capacity = {"partitionName": label, "effectiveMaxResource": most}
    usage = {"partitionName": label, "used": used}
    return {
        "queueName": name,
        "capacities": {"queueCapacitiesByPartition": [capacity]},
        "resources": {"resourceUsagesByPartition": [usage]},
        **more,
    }


def scheduler(leaf: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    middle = queue("team", whole, amounts(0, 0), queues={"queue": [leaf]})
    root = queue("root", whole, amounts(0, 0), queues={"queue": middle})
    return {"scheduler": {"schedulerInfo": {"type": "capacityScheduler", **root}}}


WHOLE = amounts(12288, 16, 4)
ROOM = nodes(amounts(6144, 8, 2), amounts(6144, 8, 2))


def test_what_nobody_tells_is_said_to_be_untold() -> None:
    """With Kerberos, or without a ResourceManager, or of an application that it has forgotten."""
    assert NOT_TOLD == explain_shortage(Answers(None))
    assert NOT_TOLD == explain_shortage(Answers({}))


def test_nodes_without_room_are_named_by_what_they_lack() -> None:
    """The resource that is nowhere free, and not those that are."""
    full = nodes(amounts(4096, 6, 0), amounts(6144, 8, 1))
    for asked, lacks in (
        (amounts(1024, 1, 2), "2 GPUs free (the most is 1)"),
        (amounts(8192, 1), "8192 MiB free (the most is 6144)"),
        (amounts(8192, 9), "8192 MiB free (the most is 6144) or 9 vcores free (the most is 8)"),
    ):
        text = explain_shortage(Answers(app(asked), full))
        assert text.endswith(f": none of 2 nodes has {lacks}")
    fragments = nodes(amounts(4096, 1), amounts(1024, 8))
    text = explain_shortage(Answers(app(amounts(2048, 2)), fragments))
    assert "2 more of 2048 MiB, 2 vcores: none of 2 nodes has all of that free at once" == text


def test_nodes_that_are_not_at_work_or_not_labelled_do_not_count() -> None:
    """A label is a wall; and who wonders where the nodes are is told."""
    asked = app(amounts(1024, 1), label="fast")
    assert explain_shortage(Answers(asked, ROOM)).endswith("no node with label fast is at work")
    fast = nodes(amounts(512, 1), nodeLabels=["fast"])
    assert explain_shortage(Answers(asked, fast)).endswith(
        "none of 1 nodes with label fast has 1024 MiB free (the most is 512)"
    )
    sick = nodes(amounts(6144, 8), state="UNHEALTHY")
    text = explain_shortage(Answers(app(amounts(1024, 1)), sick))
    assert text.endswith("no node is at work")
    some = {"nodes": {"node": [*nodes(amounts(0, 8))["nodes"]["node"], *sick["nodes"]["node"]]}}
    text = explain_shortage(Answers(app(amounts(1024, 1)), some))
    lacks = "1024 MiB free (the most is 0), and 1 more are not at work"
    assert text.endswith(f"none of 1 nodes has {lacks}")


def test_a_queue_that_may_have_no_more_is_named() -> None:
    """Though the nodes have room; but not one that may have all there is."""
    leaf = queue("small", amounts(3686, 4, 1), amounts(2816, 3))
    answers = Answers(app(amounts(1024, 1), count=1), ROOM, scheduler(leaf, WHOLE))
    expected = "1 more of 1024 MiB, 1 vcores: queue small may have 3686 MiB and has 2816"
    assert expected == explain_shortage(answers)
    whole = queue("small", WHOLE, amounts(12288, 16))
    full = Answers(app(amounts(1024, 1)), nodes(amounts(0, 0)), scheduler(whole, WHOLE))
    assert "queue" not in explain_shortage(full)


def test_a_queue_without_a_share_of_the_label_is_named() -> None:
    """Such an application waits for ever."""
    leaf = queue("small", amounts(3686, 4, 1), amounts(0, 0))
    fast = nodes(amounts(6144, 8), nodeLabels="fast")
    asked = app(amounts(1024, 1), label="fast")
    text = explain_shortage(Answers(asked, fast, scheduler(leaf, WHOLE)))
    assert text.endswith(": queue small has no share of the nodes with label fast")


@pytest.mark.parametrize("limit_of_mine", [2048, 2304])
def test_the_limit_of_a_user_is_told_from_that_of_the_queue(limit_of_mine: int) -> None:
    """Only that of the user whose application it is, and only if it is crossed already.

    Below it, YARN gives one more container, and shows a limit that grows with what it gives.
    """
    users = [
        {
            "username": name,
            "userResourceLimit": amounts(limit, 16, 4),
            "resourcesUsed": amounts(2304, 2),
        }
        for name, limit in (("you", 1024), ("me", limit_of_mine))
    ]
    leaf = queue("small", amounts(8192, 16, 4), amounts(3072, 2), users={"user": users})
    text = explain_shortage(Answers(app(amounts(1024, 1)), ROOM, scheduler(leaf, WHOLE)))
    told = text.endswith(": one user, me, may have 2048 MiB and has 2304 of queue small")
    assert (limit_of_mine == 2048) == told
    assert "you" not in text


def test_of_an_unknown_scheduler_its_words_count() -> None:
    """Each once; and where it has none, that is said."""
    asked, fair = app(amounts(1, 1)), {"scheduler": {"schedulerInfo": {"type": "fairScheduler"}}}
    assert explain_shortage(Answers(asked, ROOM, fair, SAID)).endswith(f"says: {HEADROOM}")
    assert explain_shortage(Answers(asked, ROOM, fair, WAITING)).endswith("gives no reason")


def test_the_scheduler_is_asked_until_it_has_thought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It begins to write down what it thinks when it is first asked; and only if it must be."""
    monkeypatch.setattr(resource_manager, "SAY_EVERY_S", 0.0)
    said: list[Any] = [WAITING, None, SAID]
    pages = {"cluster/apps/a": app(amounts(1, 1)), "cluster/nodes": ROOM, "cluster/scheduler": {}}
    monkeypatch.setattr(
        resource_manager, "ask", lambda what: pages[what] if what in pages else said.pop(0)
    )
    assert why_not_allocated("a").endswith(f"the scheduler says: {HEADROOM}")
    pages["cluster/nodes"] = nodes(amounts(0, 0))
    assert why_not_allocated("a").endswith("1 vcores free (the most is 0)")
    assert [] == said
