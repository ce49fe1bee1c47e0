"""`doctor`, where there is no cluster, where it is dead, and on a real one."""

import json
from typing import Any

import pytest

BEFORE = [
    *(
        "configuration",
        "Java here",
        "yarn here",
        "temp dir",
        "room here",
        "skein's key",
        "class path",
    ),
    *("proxies", "identity", "ResourceManager", "NameNode", "replication", "root"),
    *("encryption zone", "queue"),
]
DEAD = "127.0.0.1:1"


def test_without_a_cluster_all_that_can_be_looked_at_is(launches: Any) -> None:
    """Exit code 78; one line each, and the first failure is not the last line."""
    variables = {"PATH": "/usr/bin:/bin", "SKEIN_CONFIG": str(launches.folder / "key")}
    code, out, err = launches.run("doctor", f"--root={launches.root}", env=variables)
    assert 78 == code, err
    told = {line[9:].split("  ")[0].strip(): line.split()[0] for line in out.splitlines()}
    assert ("FAILURE", "FAILURE", "ok", "ok") == tuple(
        told[each] for each in ("configuration", "yarn here", "Java here", "skein's key")
    )
    skipped = [line for line in out.splitlines() if line.startswith("skipped")]
    assert 2 == len(skipped)
    assert "ResourceManager" in skipped[0]
    assert "skein's driver, request, environment, probe" in skipped[1]
    assert "Traceback" not in err
    assert not launches.root.exists()


def test_no_root_is_needed_before_there_is_one(launches: Any, yarn: Any) -> None:
    """Neither without a cluster, nor on one, where what needs a root is skipped."""
    code, _, err = launches.run("doctor", env={"PATH": "/usr/bin:/bin"})
    assert 78 == code, err
    assert "--root" not in err
    code, out, err = yarn.call("doctor", "--json")
    assert 0 == code, err
    states = {each["check"]: each["state"] for each in json.loads(out)["findings"]}
    assert {"root", "encryption zone", "probe"} == {
        check for check, state in states.items() if "skipped" == state
    }


@pytest.mark.slow
def test_daemons_that_are_dead_are_failures_beside_what_is_well(yarn: Any) -> None:
    """Each is named, with its address; what does not hang on it is looked at."""
    dead = {"yarn__resourcemanager__address": DEAD, "fs__defaultFS": f"hdfs://{DEAD}"}
    words = ("doctor", "--json", f"--root={yarn.root}")
    code, out, err = yarn.finish(yarn.start(*words, HADOOP_CONF_DIR=yarn.conf(**dead)))
    assert 78 == code, err
    found = {each["check"]: each for each in json.loads(out)["findings"]}
    for name in ("ResourceManager", "NameNode"):
        assert "failure" == found[name]["state"]
        assert DEAD in found[name]["text"]
        assert "Ask who runs the cluster" in found[name]["hint"]
    assert {"ok"} == {found[name]["state"] for name in ("root", "queue", "nodes")}
    assert {"skipped"} == {found[name]["state"] for name in ("request", "environment", "probe")}


def test_a_request_that_the_cluster_cannot_meet_is_a_failure(yarn: Any) -> None:
    """By the queue's own figures and by those that `run` looks at; the rest is well."""
    words = ("doctor", "--json", "--no-probe", f"--root={yarn.root}", "--memory=7 GiB")
    code, out, err = yarn.call(*words)
    assert 78 == code, err
    found = json.loads(out)["findings"]
    assert BEFORE == [each["check"] for each in found][: len(BEFORE)]
    failed = {each["check"] for each in found if each["state"] == "failure"}
    assert {"queue", "request"} == failed
    assert "7168 MiB" in next(each["text"] for each in found if each["check"] == "queue")


@pytest.mark.slow
def test_a_probe_tells_what_a_node_is_like(yarn: Any) -> None:
    """It runs with the environments that are shipped, and reads HDFS from its container."""
    words = ("env", "pack", f"--root={yarn.root}", "--with=six==1.17.0")
    code, environment, err = yarn.call(*words)
    assert 0 == code, err
    words = ("doctor", "--json", f"--root={yarn.root}", f"--environment={environment}")
    code, out, err = yarn.call(*words)
    assert 0 == code, out + err
    found = {each["check"]: each for each in json.loads(out)["findings"]}
    assert {"ok"} == {found[each]["state"] for each in ("node reads", "environment", "node's Java")}
    assert f"65536 bytes of {yarn.root}" in found["node reads"]["text"]
    assert found["environment"]["text"].startswith("Python 3.11")
    assert "ok" == found["node's clock"]["state"]


@pytest.mark.slow
def test_a_probe_that_finds_no_java_says_so(yarn: Any) -> None:
    """Instead of the node's lines there is one, with the mend."""
    words = ("--coordinator-env=JAVA_HOME=/no/java", "--json", f"--root={yarn.root}")
    code, out, err = yarn.call("doctor", *words)
    assert 78 == code, err
    (found,) = [each for each in json.loads(out)["findings"] if each["check"] == "probe"]
    assert "failure" == found["state"]
    assert "the node has no Java" in found["text"]
    assert "--coordinator-env" in found["hint"]
