import json
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.commands import kill
from audioloom_yarn_launcher.runs.attempts import AttemptStarted, begin
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.settings import KillSettings
from launcher_processes import alive, finish


def test_a_run_of_this_machine_is_ended(launches: Any) -> None:
    """As by Ctrl-C: its processes end, and it is on record; again, nothing is done."""
    process = launches.start("0.1:say=here", options=("--workers=2",))
    launches.note(0, 1)
    launches.note(1, 1)
    folder = str(launches.the_run())
    code, out, _ = launches.run("kill", folder)
    assert (0, folder) == (code, out)
    assert 143 == finish(process)[0]
    assert not [pid for pid in launches.pids() if alive(pid)]
    assert "interrupted" == launches.record(folder, "1.json")["outcome"]
    code, _, err = launches.run("kill", folder)
    assert 0 == code
    assert "over already" in err


def test_a_run_of_another_machine_is_ended_there(launches: Any) -> None:
    """The error says where that is."""
    launches.go()
    assert 0 == finish(launches.start())[0]
    started = launches.the_run() / "attempts/1.started.json"
    record = json.loads(started.read_text())
    record["owner"] |= {"host": "elsewhere", "boot": "another"}
    started.write_text(json.dumps(record))
    (launches.the_run() / "attempts/1.json").unlink()
    code, out, err = launches.run("kill", str(launches.the_run()))
    assert (66, "") == (code, out)
    assert "on elsewhere" in err


def test_a_launcher_that_has_just_ended_gets_no_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may be that of another process."""
    started = AttemptStarted(
        attempt=1,
        generation=0,
        launch="0" * 32,
        started=now(),
        on="local",
        size=1,
        command=("x",),
        working_folder="",
        owner=this_process(),
    )
    begin(locate(tmp_path), started)
    signals: list[int] = []
    monkeypatch.setattr(kill, "is_alive", lambda _: False)
    monkeypatch.setattr(kill.os, "kill", lambda _, number: signals.append(number))
    kill.kill_run(KillSettings(run=str(tmp_path)))
    assert [] == signals


def test_what_is_no_run_cannot_be_ended(launches: Any) -> None:
    """Nothing is written there."""
    assert 66 == launches.run("kill", str(launches.root / "runs/none"))[0]
