"""Gangs of several roles, as a person starts them by a job file."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.commands.explain import show_explanation
from audioloom_yarn_launcher.commands.logs import show_logs
from audioloom_yarn_launcher.commands.status import show_status
from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.settings import LogsSettings, RunOnlySettings, StatusSettings
from launcher_processes import finish, until

BESIDE = ("evaluator", "tensorboard")
SAY = "import os; print(os.environ['JOB_NAME'], os.environ['TF_CONFIG'])"
STAY = "import time; time.sleep(300)"
FAIL = "import sys; sys.exit(3)"
TOGETHER = "while not starts('worker'): time.sleep(0.02)"  # of a `program`


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


def alongside(launches: Any) -> list[dict[str, Any]]:
    """The sidecars, as `status` shows them."""
    folder = str(launches.the_run())
    workers: Any = show_status(StatusSettings(run=folder)).data["workers"]
    return [each for each in workers if each["role"] in BESIDE]


def explained(launches: Any) -> str:
    """What `explain` says."""
    return "\n".join(show_explanation(RunOnlySettings(run=str(launches.the_run()))).text)


def test_one_who_may_not_fail_fails_the_gang(launches: Any, tmp_path: Path) -> None:
    """The record says who it was; who has to finish did not matter any more."""
    notes = tmp_path / "notes"
    worker = program(notes, "time.sleep(300)")
    job = job_file(tmp_path, worker=worker, ps=program(notes, f"{TOGETHER}\nsys.exit(3)"))
    code, record = run(launches, job, "--max-restarts=0")
    assert 3 == code
    assert [("worker", 0, "stopped"), ("ps", 0, "failed")] == ends(record)
    assert 1 == record["cause"]["rank"]


def test_a_gang_is_done_when_those_that_must_have_finished(launches: Any, tmp_path: Path) -> None:
    """Parameter servers are ended then, an evaluator that failed is pardoned."""
    evaluator = f"max_restarts=0|{FAIL}"
    job = job_file(tmp_path, chief=SAY, worker=f"instances=2|{SAY}", ps=STAY, evaluator=evaluator)
    code, record = run(launches, job)
    assert 0 == code
    assert [
        ("chief", 0, "finished"),
        ("worker", 0, "finished"),
        ("worker", 1, "finished"),
        ("ps", 0, "stopped"),
    ] == ends(record)
    (evaluated,) = alongside(launches)
    assert (4, "evaluator", "failed", "3") == tuple(
        evaluated[key] for key in ("rank", "role", "state", "exit")
    )
    assert ("finished", None) == (record["outcome"], record["cause"])
    role, _, config = (launches.the_run() / "logs/2/1.log").read_text().strip().partition(" ")
    cluster = json.loads(config)["cluster"]
    assert "worker" == role
    assert {"chief": 1, "worker": 2, "ps": 1} == {name: len(each) for name, each in cluster.items()}
    started = json.loads((launches.the_run() / "attempts/1.started.json").read_text())
    assert ["chief", "worker", "ps", "evaluator"] == [each["role"] for each in started["roles"]]


def test_a_role_may_end_the_job(launches: Any, tmp_path: Path) -> None:
    """Whoever else is at work."""
    notes = tmp_path / "notes"
    chief, worker = program(notes, TOGETHER), program(notes, "time.sleep(300)")
    job = job_file(tmp_path, chief=f"ends_job=true|{chief}", worker=worker)
    code, record = run(launches, job)
    assert 0 == code
    assert [("chief", 0, "finished"), ("worker", 0, "stopped")] == ends(record)


def program(folder: Path, code: str) -> str:
    """A line of Python that notes in a folder that it was started, and by whom, and goes on."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{len([*folder.glob('*.py')])}.py"
    path.write_text(
        f"import os, pathlib, sys, time\nnotes = pathlib.Path({str(folder)!r})\n"
        "me = os.environ['JOB_NAME']\n"
        "(notes / f'{me}.{os.getpid()}').touch()\n"
        "starts = lambda who: len([*notes.glob(f'{who}.*')])\n"
        f"{code}\n"
    )
    return f"exec(open('{path}').read())"


def starts(folder: Path, role: str) -> int:
    """How often a program of a role was started."""
    return len([*folder.glob(f"{role}.*")])


def test_a_sidecar_that_may_not_fail_fails_the_run(launches: Any, tmp_path: Path) -> None:
    """When it has been started anew as often as it may; the gang is not started anew for that."""
    evaluator = f"may_fail=false\nmax_restarts=1|{FAIL}"
    code, record = run(launches, job_file(tmp_path, worker=STAY, evaluator=evaluator))
    assert 3 == code
    assert [("worker", 0, "stopped")] == ends(record)
    assert (1, False) == (record["cause"]["rank"], record["restarts"])
    (evaluated,) = alongside(launches)
    assert ("failed", 2) == (evaluated["state"], evaluated["attempts"])


@pytest.mark.parametrize("ends_by", ["sys.exit(3)", "os.kill(os.getppid(), 9)"])
def test_a_sidecar_is_restarted_alone(launches: Any, tmp_path: Path, ends_by: str) -> None:
    """Its process fails, or its worker is killed; both of its processes write one log."""
    notes = tmp_path / "notes"
    worker = program(notes, "while starts('evaluator') < 2: time.sleep(0.02)")
    evaluator = program(notes, f"print('here', flush=True)\nif starts(me) < 2: {ends_by}")
    code, record = run(launches, job_file(tmp_path, worker=worker, evaluator=evaluator))
    assert (0, [("worker", 0, "finished")]) == (code, ends(record))
    assert (1, 2) == (starts(notes, "worker"), starts(notes, "evaluator"))
    (evaluated,) = alongside(launches)
    assert ("finished", 2, "0") == tuple(evaluated[key] for key in ("state", "attempts", "exit"))
    assert ["here"] * 2 == [*show_logs(LogsSettings(run=str(launches.the_run()), rank=1)).text]
    why = "ended with exit code 3" if "exit" in ends_by else "was lost: "
    assert f"the sidecar evaluator 0 {why}" in explained(launches)


def test_a_gang_is_restarted_without_its_sidecars(launches: Any, tmp_path: Path) -> None:
    """The evaluator is well, and runs on; its log is with the attempt that it was started in."""
    notes = tmp_path / "notes"
    together = "while not starts('evaluator'): time.sleep(0.02)"
    worker = program(notes, f"{together}\nif starts(me) == 1: sys.exit(9)")
    evaluator = program(
        notes, "print('here', flush=True)\nwhile starts('worker') < 2: time.sleep(1)"
    )
    code, record = run(launches, job_file(tmp_path, worker=worker, evaluator=evaluator))
    assert (0, [("worker", 0, "failed")]) == (code, ends(record))
    assert (2, 1) == (starts(notes, "worker"), starts(notes, "evaluator"))
    (evaluated,) = alongside(launches)
    assert ("finished", 1) == (evaluated["state"], evaluated["attempts"])
    folder = str(launches.the_run())
    assert "[1] here" in [*show_logs(LogsSettings(run=folder)).text]
    assert "[1] here" in [*show_logs(LogsSettings(run=folder, follow=True)).text]


def test_the_page_of_tensorboard_is_shown_while_it_runs(launches: Any, tmp_path: Path) -> None:
    """It reads the run's events, listens where the launcher says, and ends with the job."""
    events = launches.root / "runs/mine/logs/tensorboard/train"
    events.mkdir(parents=True)
    (events / "events.out.tfevents.1").write_text("scalars")
    job = tmp_path / "job.toml"
    server = ["python3", "-m", "http.server", "{port}", "--bind={host}", "--directory={events}"]
    worker = program(tmp_path / "notes", "while starts('go') < 1: time.sleep(0.02)")
    job.write_text(
        f"[roles.worker]\ncommand = ['python3', '-c', \"{worker}\"]\n"
        f"[roles.tensorboard]\ncommand = {json.dumps(server)}\n"
    )
    words = ("run", f"--root={launches.root}", f"--job={job}", "--name=mine")
    process = launches.program(*words)
    board = until(lambda: page_of(launches), "the page")
    with urllib.request.urlopen(f"{board}train/events.out.tfevents.1") as reply:  # noqa: S310
        assert b"scalars" == reply.read()
    (tmp_path / "notes/go.1").touch()
    code, _, err = finish(process)
    assert (0, True) == (code, board in err)
    (shown,) = alongside(launches)
    assert ("tensorboard", "stopped", None) == (shown["role"], shown["state"], shown["page"])


def page_of(launches: Any) -> str:
    """Where the sidecar is to be seen, as soon as it is."""
    try:
        return next((each["page"] or "" for each in alongside(launches)), "")
    except NoRun:
        return ""


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
