import json
import re
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.commands.explain import show_explanation
from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.settings import RunOnlySettings
from launcher_processes import finish, until


def explained(folder: Path) -> tuple[dict[str, str], Any]:
    """The facts by their names, and the data."""
    result = show_explanation(RunOnlySettings(run=str(folder)))
    assert not isinstance(result.text, str)
    # Numbers stand on the right of their column.
    lines = [re.sub("^ +(?=[0-9]+  )", "", line).partition("  ") for line in result.text]
    json.dumps(result.data)
    named = {name: text.strip() for name, _, text in lines if name}
    return named | {"more": " ".join(text for name, _, text in lines if not name)}, result.data


def note(folder: Path, rank: int, **values: Any) -> None:
    """What a trainer would note of its progress."""
    (folder / "progress").mkdir(exist_ok=True)
    with (folder / f"progress/{rank}.jsonl").open("a") as file:
        file.write(json.dumps(values) + "\n")


def test_there_is_nothing_to_explain_where_no_run_lies(tmp_path: Path) -> None:
    """The error is that of every command."""
    with pytest.raises(NoRun):
        show_explanation(RunOnlySettings(run=str(tmp_path / "none")))


def test_the_first_cause_its_echoes_and_the_attempts_alike(launches: Any) -> None:
    """With the last words of the one that was first, and what there is to do."""
    parts = ("2.*:say=ValueError: no such label", "2.*:exit=3")
    process = launches.start(*parts, options=("--workers=3",))
    assert 3 == finish(process)[0]
    folder = launches.the_run()
    note(folder, 2, event="step", attempt=2, step=1200)
    told, data = explained(folder)
    first = data["first_cause"]
    assert (2, 2, "failed") == (first["attempt"], first["rank"], first["kind"])
    assert told["first cause"].endswith("ended with exit code 3: ValueError: no such label")
    assert "workers 0 and 1 stopped because of it" == told["then"]
    assert "attempt 1" == told["the same in"]
    assert "1,200" == told["at step"]
    assert str(folder / "logs/2/2.log") == told["log"]
    assert told["run"].endswith("failed after 2 attempts, with exit code 3")
    assert "| ValueError: no such label" in told["more"]
    assert {"1", "2"} <= told.keys()


def test_a_launcher_that_died_cannot_hide_what_came_before(launches: Any) -> None:
    """The workers' own words are heard: who failed by itself, and who missed it."""
    process = launches.start(options=("--workers=2",))
    for rank in range(2):
        launches.note(rank, 1)
    folder = launches.the_run()
    until((folder / "attempts/1.members.json").exists, "the members")
    process.kill()
    finish(process)
    told, data = explained(folder)
    assert "lost after 1 attempt" in told["run"]
    assert told["first cause"].startswith("the launcher was lost: process ")
    assert "workers 0 and 1 ended with it, unseen" == told["then"]
    note(folder, 0, event="failed", attempt=1, error="PeerLost", text="gone", peer_ranks=[1])
    with (folder / "logs/1/1.log").open("a") as file:
        file.write("Traceback (most recent call last):\n  File x\nMemoryError: no more\n")
    told, data = explained(folder)
    assert 1 == data["first_cause"]["rank"]
    assert told["first cause"].endswith("failed: MemoryError: no more")
    assert told["then"].startswith("worker 0 failed because of it; then the launcher was lost")


def test_a_run_that_ended_well_says_what_went_wrong_before(launches: Any) -> None:
    """And one in which nothing did says that."""
    launches.go()
    process = launches.start("0.1:exit=3", "0.2:commit", options=("--workers=1",))
    assert 0 == finish(process)[0]
    told, data = explained(launches.the_run() / "manifest.json")
    assert "committed, though 1 of 2 attempts did not end well" in told["run"]
    assert data["first_cause"] is None
    assert "exit code 3" in told["1"]


def test_a_run_that_is_at_work_has_no_cause_yet(launches: Any) -> None:
    """Nothing of it is taken for its end."""
    process = launches.start(options=("--workers=1",))
    launches.note(0, 1)
    told, data = explained(launches.the_run())
    assert "at work" in told["run"]
    assert data["first_cause"] is None
    launches.go()
    assert 0 == finish(process)[0]


def test_what_yarn_says_of_the_application_is_told(launches: Any, answers: Any) -> None:
    """Where the coordinator died before it could say anything, with what to do about it."""
    launches.go()
    assert 0 == finish(launches.start(options=("--workers=2",)))[0]
    folder = launches.the_run()
    (folder / "attempts/1.json").unlink()
    path = folder / "attempts/1.started.json"
    record = json.loads(path.read_text())
    record["owner"] |= {"application": "application_1_1", "application_attempt": 1}
    path.write_text(json.dumps(record))
    diagnostics = "AM Container is running beyond the 'PHYSICAL' memory limit."
    answers(200, {"app": {"state": "FAILED", "diagnostics": diagnostics}})
    told, data = explained(folder)
    assert told["first cause"].startswith("the application master was killed for memory (applica")
    assert "--coordinator-memory" in told["try"]
    assert "launcher" == data["first_cause"]["kind"]
