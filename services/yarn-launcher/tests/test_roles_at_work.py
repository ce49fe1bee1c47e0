"""Gangs of several roles, as a person starts them by a job file."""

import json
from pathlib import Path
from typing import Any

import pytest

SAY = "import os; print(os.environ['JOB_NAME'], os.environ['TF_CONFIG'])"
STAY = "import time; time.sleep(300)"
FAIL = "import sys; sys.exit(3)"


def job_file(folder: Path, **roles: str) -> str:
    """A job file in which each role runs a line of Python; more keys may stand before it."""
    tables = []
    for role, line in roles.items():
        keys, _, code = line.rpartition("|")
        tables.append(f"[roles.{role}]\n{keys}\ncommand = ['python3', '-c', \"{code}\"]\n")
    path = folder / "job.toml"
    path.write_text("\n".join(tables))
    return str(path)


def run(launches: Any, job: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a run, and the record of its first attempt."""
    code, out, err = launches.run("run", f"--root={launches.root}", f"--job={job}", *options)
    assert out or code, err
    record = json.loads((launches.the_run() / "attempts/1.json").read_text())
    return code, record


def ends(record: dict[str, Any]) -> list[tuple[str, int, str]]:
    """What became of each."""
    return [(each["role"], each["index"], each["end"]) for each in record["workers"]]


def test_one_who_may_not_fail_fails_the_gang(launches: Any, tmp_path: Path) -> None:
    """The record says who it was; who has to finish did not matter any more."""
    job = job_file(tmp_path, worker=STAY, ps=FAIL)
    code, record = run(launches, job, "--max-restarts=0")
    assert 3 == code
    assert [("worker", 0, "stopped"), ("ps", 0, "failed")] == ends(record)
    assert 1 == record["cause"]["rank"]


def test_a_gang_is_done_when_those_that_must_have_finished(launches: Any, tmp_path: Path) -> None:
    """Parameter servers are ended then, an evaluator that failed is pardoned."""
    job = job_file(tmp_path, chief=SAY, worker=f"instances=2|{SAY}", ps=STAY, evaluator=FAIL)
    code, record = run(launches, job)
    assert 0 == code
    assert [
        ("chief", 0, "finished"),
        ("worker", 0, "finished"),
        ("worker", 1, "finished"),
        ("ps", 0, "stopped"),
        ("evaluator", 0, "failed"),
    ] == ends(record)
    assert ("finished", None) == (record["outcome"], record["cause"])
    role, _, config = (launches.the_run() / "logs/2.1.log").read_text().strip().partition(" ")
    cluster = json.loads(config)["cluster"]
    assert "worker" == role
    assert {"chief": 1, "worker": 2, "ps": 1} == {name: len(each) for name, each in cluster.items()}
    started = json.loads((launches.the_run() / "attempts/1.started.json").read_text())
    assert ["chief", "worker", "ps", "evaluator"] == [each["role"] for each in started["roles"]]


def test_a_role_may_end_the_job(launches: Any, tmp_path: Path) -> None:
    """Whoever else is at work."""
    job = job_file(tmp_path, chief="ends_job=true|pass", worker=STAY)
    code, record = run(launches, job)
    assert 0 == code
    assert [("chief", 0, "finished"), ("worker", 0, "stopped")] == ends(record)


@pytest.mark.slow
def test_each_role_gets_its_containers(yarn: Any, tmp_path: Path) -> None:
    """With its own memory, and its own name; the one who need not finish is ended."""
    job = Path(job_file(tmp_path, chief=SAY, worker=SAY, ps=f"memory='512 MiB'|{STAY}"))
    words = ("run", "--on=yarn", "--memory=256 MiB", f"--root={yarn.root}", "--name=roles")
    code, _, err = yarn.call(*words, f"--job={job}")
    assert 0 == code, err
    status = yarn.status("roles")
    assert ["finished", "finished", "stopped"] == [each["state"] for each in status["workers"]]
    _, out, _ = yarn.call("logs", "--rank=1", yarn.where("roles"))
    role, _, config = out.strip().partition(" ")
    assert ("worker", ["chief", "ps", "worker"]) == (role, sorted(json.loads(config)["cluster"]))
