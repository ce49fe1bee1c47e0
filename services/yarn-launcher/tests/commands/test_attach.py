import json
import re
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import Location, Unavailable, locate
from audioloom_yarn_launcher.commands import attach
from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, locate_run
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs.attempts import begin, publish_record
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.settings import RunOnlySettings
from launcher_processes import finish
from structlog.testing import capture_logs

APPLICATION = "application_1700000000000_0001"


def test_what_is_no_run_cannot_be_waited_for(launches: Any) -> None:
    """The error is that of every command."""
    assert 66 == launches.run("attach", str(launches.root / "runs/none"))[0]


def test_the_next_commands_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    """Also where the folder has a blank."""
    result = attach.report_application(locate(tmp_path / "my runs/r"), APPLICATION, None)
    expected = f"audioloom-yarn-launcher logs --follow '{tmp_path}/my runs/r'"
    assert expected == result.next[1]


def test_a_run_of_another_machine_cannot_be_waited_for(launches: Any) -> None:
    """Nobody here sees its end."""
    launches.go()
    assert 0 == finish(launches.start())[0]
    started = launches.the_run() / "attempts/1.started.json"
    record = json.loads(started.read_text())
    record["owner"] |= {"host": "elsewhere", "boot": "another"}
    started.write_text(json.dumps(record))
    (launches.the_run() / "attempts/1.json").unlink()
    code, out, err = launches.run("attach", str(launches.the_run()))
    assert (66, "") == (code, out)
    assert "on elsewhere" in err


def test_a_run_that_is_over_is_answered_as_run_did(launches: Any) -> None:
    """The same code, the same line, the same cause."""
    process = launches.start("0.*:exit=3", options=("--max-restarts=1",))
    assert 3 == finish(process)[0]
    code, out, err = launches.run("attach", "--json", str(launches.the_run()))
    assert 3 == code
    found = json.loads(out)
    assert (2, 3) == (found["attempts"], found["exit_code"])
    assert re.search(
        r"^error: the process of worker 0 on \S+ ended with exit code 3$", err, re.MULTILINE
    )


def test_a_run_that_goes_on_is_waited_for(launches: Any) -> None:
    """To its manifest; and whoever began it answers too."""
    process = launches.start("0.1:say=here", options=("--workers=1",))
    launches.note(0, 1)
    folder = launches.the_run()
    attached = launches.program("attach", str(folder))
    launches.go()
    assert (0, str(folder)) == finish(attached)[:2]
    assert (0, str(folder)) == finish(process)[:2]


def test_a_storage_that_is_away_for_a_while_ends_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run may go on without it."""
    spec = RunSpec(name="r", folder=locate(tmp_path).uri, command=("train",), launch="a" * 32)
    started = spec.attempt(1)
    assert begin(spec.location, started)
    read, reads = attach.run_status.read_run_status, iter([False, True, True, False])

    def read_later(folder: Location) -> RunStatus:
        if next(reads):
            raise Unavailable("for a while")
        view = read(folder)
        cause = Cause("exit", "it hurts", 3)
        if not view.over:
            publish_record(folder, started.end(cause, told=cause, ended=now()))
        return view

    monkeypatch.setattr(attach.run_status, "read_run_status", read_later)
    monkeypatch.setattr(attach, "LOOK_EVERY_S", 0.0)
    with capture_logs() as logs:
        result = attach.attach_run(RunOnlySettings(run=str(tmp_path)))
    assert (3, "it hurts") == (result.exit_code, result.problem)
    assert ["for a while"] == [each["found"] for each in logs if "found" in each]


def test_a_run_whose_launcher_was_killed_can_be_tried_again(launches: Any) -> None:
    """Nothing of it goes on: one of this machine ends with its launcher."""
    process = launches.start(options=("--workers=1",))
    launches.note(0, 1)
    process.kill()
    finish(process)
    code, _, err = launches.run("attach", str(launches.the_run()))
    assert 75 == code
    assert "the launcher was lost" in err


def test_an_application_leads_to_its_run(answers: Any) -> None:
    """By its name, which the ResourceManager remembers after the end too."""
    answers(200, {"app": {"state": "FINISHED", "name": "audioloom hdfs://nn/loom/runs/x"}})
    assert locate("hdfs://nn/loom/runs/x") == locate_run(APPLICATION)


@pytest.mark.parametrize(
    ("code", "answer", "told"),
    [
        (200, {"app": {"state": "RUNNING", "name": "audioloom x"}}, "called audioloom x"),
        (200, {"app": {"state": "RUNNING", "name": "word count"}}, "called word count"),
        (404, {}, "knows nothing of it"),
        (500, {}, "does not answer"),
    ],
)
def test_an_application_that_leads_nowhere_is_told(
    answers: Any, code: int, answer: object, told: str
) -> None:
    """It is another's, or forgotten, or nobody tells: then the folder is asked for."""
    answers(code, answer)
    with pytest.raises(NoRun, match=told):
        locate_run(APPLICATION)
