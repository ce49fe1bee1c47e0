from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.preflight import cluster
from audioloom_yarn_launcher.rendezvous.limits import Resources
from small_hadoop import small_hadoop


def resources(memory: int, vcores: int, gpus: int) -> dict[str, Any]:
    """As a page of the ResourceManager has them."""
    more = [
        {"name": "memory-mb", "value": memory},
        {"name": "vcores", "value": vcores},
        {"name": "yarn.io/gpu", "value": gpus},
    ]
    return {
        "memory": memory,
        "vCores": vcores,
        "resourceInformations": {"resourceInformation": more},
    }


def scheduler(**more: Any) -> dict[str, Any]:
    """A queue below another one."""
    leaf = {"queueName": "night", "queuePath": "root.team.night", "state": "RUNNING", **more}
    team = {"queueName": "team", "queuePath": "root.team", "queues": {"queue": [leaf]}}
    return {"scheduler": {"schedulerInfo": {"queueName": "root", "queues": {"queue": [team]}}}}


SMALL = Resources(2048, 1)


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        (None, "warning", "cannot tell"),
        ({"scheduler": {"schedulerInfo": {"type": "fairScheduler"}}}, "warning", "cannot tell"),
        (scheduler(), "warning", "does not tell its largest container"),
        (scheduler(state="STOPPED"), "failure", "takes no applications"),
        (scheduler(maximumAllocation=resources(1024, 8, 0)), "failure", "at most 1024 MiB"),
        (scheduler(maximumAllocation=resources(4096, 8, 0)), "ok", "up to 4096 MiB"),
    ],
)
def test_a_queue_is_held_against_what_is_asked(answer: Any, state: str, told: str) -> None:
    """By its name, wherever it hangs; a scheduler that says nothing is no failure."""
    found = cluster.check_queue(answer, "night", SMALL)
    assert state == found.state
    assert told in found.text


def test_gpus_are_part_of_the_largest_container() -> None:
    """And the whole path names a queue too."""
    answer = scheduler(maximumAllocation=resources(4096, 8, 2))
    asked = [Resources(1, 1, gpus) for gpus in (3, 2)]
    states = [cluster.check_queue(answer, "root.team.night", each).state for each in asked]
    assert ["failure", "ok"] == states


@pytest.mark.parametrize(
    ("answer", "label", "state"),
    [
        (None, "", "warning"),
        (scheduler(maxEffectiveCapacity=resources(0, 0, 0)), "", "warning"),
        (scheduler(maxEffectiveCapacity=resources(8000, 9, 0)), "", "failure"),
        (scheduler(maxEffectiveCapacity=resources(8000, 9, 0)), "fast", "warning"),
        (scheduler(maxEffectiveCapacity=resources(9000, 9, 0)), "", "ok"),
    ],
)
def test_a_gang_that_a_queue_never_holds_is_a_failure(answer: Any, label: str, state: str) -> None:
    """It would wait for ever."""
    assert state == cluster.check_gang(answer, "night", Resources(8192, 4), label).state


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("", "warning"),
        ("trunk", "warning"),
        ("2.7.3.2.6.5.0-292", "warning"),
        ("2.10.1", "warning"),
        ("2.10.2", "ok"),
        ("3.1.4", "warning"),
        ("3.2.2", "warning"),
        ("3.2.3", "ok"),
        ("3.3.1", "warning"),
        ("3.3.2", "ok"),
        ("3.4.3", "ok"),
        ("4.0.0", "ok"),
    ],
)
def test_a_hadoop_in_which_users_may_become_root_is_told(told: str, state: str) -> None:
    """By its number; a vendor may have mended it without changing that."""
    found = cluster.check_version({"clusterInfo": {"hadoopVersion": told}})
    assert state == found.state
    assert "warning" == cluster.check_version(None).state


def node(state: str, **more: Any) -> dict[str, Any]:
    return {"state": state, "nodeHostName": "n1", "totalResource": resources(1, 1, 1), **more}


@pytest.mark.parametrize(
    ("answer", "state", "told"),
    [
        (None, "warning", "cannot tell"),
        ({"nodes": None}, "failure", "none is at work"),
        ({"nodes": {"node": [node("LOST")]}}, "failure", "none is at work"),
        (
            {"nodes": {"node": [node("RUNNING"), node("UNHEALTHY", healthReport="disk full")]}},
            "warning",
            "n1 is unhealthy (disk full)",
        ),
        ({"nodes": {"node": [node("RUNNING"), node("DECOMMISSIONED")]}}, "ok", "1 at work"),
    ],
)
def test_nodes_that_do_not_work_are_told_with_their_reason(
    answer: Any, state: str, told: str
) -> None:
    """A full disk shows here first."""
    found = cluster.check_nodes(answer)
    assert state == found.state
    assert told in found.text


def test_gpus_that_no_node_offers_are_a_failure() -> None:
    """Where nobody tells, a warning."""
    answer = {"nodes": {"node": [node("RUNNING")]}}
    assert ["ok", "ok", "failure"] == [cluster.check_gpus(answer, n).state for n in range(3)]
    assert "warning" == cluster.check_gpus(None, 1).state


@pytest.mark.parametrize(("copies", "state"), [("", "ok"), ("1", "warning"), ("3", "ok")])
def test_one_copy_of_each_file_is_a_warning(copies: str, state: str) -> None:
    """It is slow to write, and lost with its disk."""
    assert state == cluster.replication(small_hadoop({"dfs.replication": copies})).state


@pytest.mark.parametrize(
    ("value", "state"), [("", "warning"), ("false", "warning"), ("true", "ok")]
)
def test_logs_that_are_not_kept_are_a_warning(value: str, state: str) -> None:
    """The workers' own are in the run folder."""
    assert state == cluster.log_aggregation(small_hadoop({cluster.AGGREGATION: value})).state


@pytest.mark.parametrize(
    ("status", "root", "state"),
    [
        (None, "hdfs://nn/x", "warning"),
        ({"FileStatus": {"encBit": True}}, "hdfs://nn/x", "failure"),
        ({"FileStatus": {"owner": "me"}}, "hdfs://nn/x", "ok"),
        (None, "webhdfs://nn/x", "ok"),
        (None, "file:///x", "ok"),
    ],
)
def test_a_root_in_an_encryption_zone_is_a_failure(
    status: Any, root: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """hdfs:// has no key for it; where the NameNode does not say, nobody can tell."""
    monkeypatch.setattr(cluster.rest, "ask", lambda *_: status)
    hadoop = small_hadoop({"fs.defaultFS": "hdfs://nn", "dfs.namenode.http-address": "nn:9870"})
    assert state == cluster.encryption(hadoop, locate(root)).state
