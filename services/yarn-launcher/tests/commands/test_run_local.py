import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage.errors import Usage
from audioloom_yarn_launcher.commands.run_local import launch
from audioloom_yarn_launcher.commands.status import show_status
from audioloom_yarn_launcher.coordinator import generation
from audioloom_yarn_launcher.coordinator.timeouts import Limits
from audioloom_yarn_launcher.local import workers
from audioloom_yarn_launcher.local.workers import agent_command
from audioloom_yarn_launcher.runs.attempts import read_attempts
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.settings import RunSettings, StatusSettings
from launcher_processes import MEMBER, alive


def settings(launches: Any, *parts: str, **more: Any) -> RunSettings:
    command = (sys.executable, str(MEMBER), str(launches.notes), *parts)
    return RunSettings.model_validate({"root": str(launches.root), "command": command, **more})


def start_instead(monkeypatch: pytest.MonkeyPatch, commands: dict[int, list[str]]) -> None:
    """Workers of which some are other programs, by their slots."""

    def command(descriptor: int, worker: str, slot: int, *more: Any) -> list[str]:
        return commands.get(slot) or agent_command(descriptor, worker, slot, *more)

    monkeypatch.setattr(workers, "agent_command", command)


def only_record(launches: Any) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((launches.the_run() / "attempts/1.json").read_text())
    return record


def test_a_worker_that_never_comes_is_named(
    launches: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With who came and what is known of the others; nothing is started, and nothing is left."""
    code = "print('stuck in x', flush=True); import time; time.sleep(300)"
    start_instead(monkeypatch, {1: ["sleep", "300"], 2: [sys.executable, "-c", code]})
    # Enough for one to come, and for one to say something, on a busy machine.
    asked = settings(launches, workers=3, max_restarts=0, timeout_registration=8)
    result = launch(asked)
    assert 75 == result.exit_code
    before, asleep, stuck = str(result.data["cause"]).split("; ")
    assert "1 of 3 workers registered within 8 s (came: worker-0" == before
    assert asleep.startswith("worker-1: ")
    assert asleep.endswith(" and has written nothing")
    assert stuck.startswith("worker-2: ")
    assert stuck.endswith(" and last wrote: stuck in x)")
    assert not (launches.the_run() / "logs").exists()
    record = only_record(launches)
    assert "registration" == record["cause"]["kind"]
    states = ["registered", "unregistered", "unregistered"]
    assert states == [each["state"] for each in record["arrivals"]]
    assert [0, None, None] == [each["rank"] for each in record["arrivals"]]
    assert "worker-0  0     registered  " in capsys.readouterr().err
    page = show_status(StatusSettings(run=str(launches.the_run())))
    assert "worker-1  -     unregistered" in "\n".join(page.text)
    assert states == [each["state"] for each in page.data["arrivals"]]


def test_a_worker_that_cannot_start_is_replaced_and_then_given_up(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it said last is the cause, long before the time is up."""
    start_instead(monkeypatch, {0: [sys.executable, "-c", "raise SystemExit('no module named x')"]})
    result = launch(settings(launches, workers=2, timeout_registration=600))
    assert 75 == result.exit_code
    assert "ended with exit code 1 after writing: no module named x" in str(result.data["cause"])
    attempts = read_attempts(read_run_spec(settings(launches)).location)
    assert [True, False] == [attempt.ended.restarts for attempt in attempts if attempt.ended]


@pytest.mark.parametrize(
    "last", ["ModuleNotFoundError: No module named 'x'", "python: No module named x"]
)
def test_a_worker_that_lacks_a_module_is_not_started_anew(
    launches: Any, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """Another one would lack it, too."""
    start_instead(monkeypatch, {0: [sys.executable, "-c", f"raise SystemExit({last!r})"]})
    result = launch(settings(launches, workers=2, timeout_registration=600))
    assert 78 == result.exit_code
    assert last in str(result.data["cause"])
    attempts = read_attempts(read_run_spec(settings(launches)).location)
    assert [False] == [attempt.ended.restarts for attempt in attempts if attempt.ended]


def test_modules_of_the_working_folder_are_not_the_launcher_s(
    launches: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where PYTHONPATH has an empty entry; what it means to the command stays as it is."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("queue", "sitecustomize", "audioloom_yarn_launcher"):
        (folder / f"{name}.py").write_text(PLANTED.format(name=name))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    launches.go()
    assert 0 == launch(settings(launches, workers=2)).exit_code
    ran_by = {path.read_text() for path in folder.glob("*.ran")}
    assert [] == [each for each in ran_by if "audioloom_yarn_launcher" in each]
    assert any(str(MEMBER) in each for each in ran_by)


PLANTED = """
import sys
with open({name!r} + ".ran", "a") as file:
    file.write(" ".join(sys.orig_argv))
    file.write(chr(10))
"""


def test_a_frozen_worker_is_replaced_when_its_gang_ends(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not say how its process ended, so it is killed, and its process with it."""
    monkeypatch.setattr(generation, "FAILED_WITHIN_S", 0.5)
    frozen: list[dict[str, Any]] = []

    def freeze_and_fail() -> None:
        frozen.append(launches.note(0, 1))
        os.kill(frozen[0]["worker"], signal.SIGSTOP)
        os.kill(launches.note(1, 1)["pid"], signal.SIGKILL)
        launches.note(0, 2)
        launches.go()

    saboteur = threading.Thread(target=freeze_and_fail)
    saboteur.start()
    result = launch(settings(launches, workers=2))
    saboteur.join()
    assert 0 == result.exit_code
    assert not [which for which in ("worker", "pid", "escaped") if alive(frozen[0][which])]
    record = only_record(launches)
    assert ("signal", 1) == (record["cause"]["kind"], record["cause"]["rank"])
    assert ["stopped", "failed"] == [worker["end"] for worker in record["workers"]]


def test_a_gang_that_works_for_too_long_is_ended(launches: Any) -> None:
    """And not started anew: there is no time left, whoever starts it again gives it more."""
    asked = settings(launches, workers=2, max_restarts=5, timeout_execution=3)
    result = launch(asked)
    assert 75 == result.exit_code
    record = only_record(launches)
    assert ("execution", "failed") == (record["cause"]["kind"], record["outcome"])
    assert ["stopped"] * 2 == [worker["end"] for worker in record["workers"]]
    assert not [pid for pid in launches.pids() if alive(pid)]


def test_without_time_left_to_work_nothing_is_started_anew(
    launches: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause is that of the last attempt."""
    monkeypatch.setattr(Limits, "after", lambda limits, _: replace(limits, execution_s=0.0))
    asked = settings(launches, "*.*:exit=3", max_restarts=5, timeout_execution=600)
    result = launch(asked)
    assert (3, 1) == (result.exit_code, result.data["attempts"])


def test_a_run_that_was_taken_over_ends(launches: Any) -> None:
    """The next attempt belongs to another launcher, so this one must not go on."""
    asked = settings(launches, workers=1)

    def take_over() -> None:
        attempts = launches.root / "runs" / read_run_spec(asked).name / "attempts"
        pid = launches.note(0, 1)["pid"]
        stolen = json.loads((attempts / "1.started.json").read_text()) | {"attempt": 2}
        (attempts / "2.started.json").write_text(json.dumps(stolen))
        os.kill(pid, signal.SIGKILL)

    thief = threading.Thread(target=take_over)
    thief.start()
    with pytest.raises(Exception, match="another launcher is at work"):
        launch(asked)
    thief.join()
    assert not [pid for pid in launches.pids() if alive(pid)]


def test_signals_work_as_before_when_a_run_is_over(launches: Any) -> None:
    """The launcher's handlers are its own."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    launches.go()
    assert 0 == launch(settings(launches, workers=1)).exit_code
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def test_nothing_but_the_run_folder_is_written(launches: Any, tmp_path: Path) -> None:
    """Its tree is the contract's."""
    launches.go()
    launch(settings(launches, workers=2, name="mine"))
    tree = sorted(
        str(p.relative_to(launches.root))
        for p in launches.root.rglob("*")
        if p.is_file()
        if p.parent.name != "progress"  # of a run that takes more than a second
    )
    expected = ["attempts/1.json", "attempts/1.members.json", "attempts/1.started.json"]
    expected += ["logs/0/1.log", "logs/1/1.log"]
    assert [f"runs/mine/{path}" for path in expected] == tree


def test_workers_are_reached_in_the_network_that_is_asked_for(launches: Any) -> None:
    """Of this machine; where it has no address in it, nothing is begun."""
    launches.go()
    assert 0 == launch(settings(launches, workers=1, advertise="127.0.0.0/8")).exit_code
    (seat,) = only_record(launches)["workers"]
    assert seat["address"].startswith("127.0.0.1:")
    with pytest.raises(Usage, match="no address in the network"):
        launch(settings(launches, name="none", advertise="240.0.0.0/4"))
    assert not (launches.root / "runs" / "none").exists()
    with pytest.raises(ValueError, match=r"a network such as 10\.0\.0\.0/8, found 10\.0\.0\.1/8"):
        settings(launches, advertise="10.0.0.1/8")
