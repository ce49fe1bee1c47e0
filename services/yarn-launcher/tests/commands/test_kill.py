import json
from typing import Any

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


def test_what_is_no_run_cannot_be_ended(launches: Any) -> None:
    """Nothing is written there."""
    assert 66 == launches.run("kill", str(launches.root / "runs/none"))[0]
