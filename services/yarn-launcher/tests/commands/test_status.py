import json
import re
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.commands.status import show_status
from audioloom_yarn_launcher.errors import NoRun
from audioloom_yarn_launcher.monitoring.run_status import read_run_status
from audioloom_yarn_launcher.runs.attempts import read_attempts
from audioloom_yarn_launcher.settings import StatusSettings
from launcher_processes import finish, until


def lines_of(folder: Path) -> list[str]:
    text = show_status(StatusSettings(run=str(folder))).text
    return [text] if isinstance(text, str) else list(text)


def data_of(folder: Path) -> dict[str, Any]:
    return dict(show_status(StatusSettings(run=str(folder))).data)


def table(folder: Path, *names: str) -> list[list[str]]:
    """These cells of the rows of the workers."""
    lines = lines_of(folder)
    heading, *rows = [re.split(r"  +", line.strip()) for line in lines[lines.index("") + 1 :]]
    return [[row[heading.index(name)] for name in names] for row in rows]


def test_a_place_without_a_run_is_said_to_be_one(tmp_path: Path) -> None:
    """Whether there is nothing at all, or a folder of something else."""
    for place, found in ((tmp_path / "none", "nothing"), (tmp_path, "no manifest")):
        with pytest.raises(NoRun, match=found):
            show_status(StatusSettings(run=str(place)))


def test_the_workers_of_a_run_that_failed(launches: Any) -> None:
    """Who failed, who was stopped because of it, and how often each took part."""
    process = launches.start("1.*:exit=3", options=("--workers=2",))
    assert 3 == finish(process)[0]
    folder = launches.the_run()
    rows = table(folder, "rank", "state", "attempts", "exit", "log")
    assert [
        ["0", "stopped", "2", "SIGKILL", "logs/0/2.log"],
        ["1", "failed", "2", "3", "logs/1/2.log"],
    ] == rows
    text = "\n".join(lines_of(folder))
    for attempt in (1, 2):
        assert f"cause of {attempt}  the process of worker 1 ended with exit code 3" in text
    data = show_status(StatusSettings(run=str(folder / "manifest.json"))).data
    assert ("failed", None, 2) == (data["state"], data["manifest"], len(data["attempts"]))  # type: ignore[arg-type]
    json.dumps(data)


def test_a_signal_without_a_name_is_shown_by_its_number(launches: Any) -> None:
    """As most real-time signals are."""
    command = (sys.executable, "-c", "import os; os.kill(os.getpid(), 35)")
    options = ("--root", str(launches.root), "--max-restarts=0")
    assert 75 == launches.run("run", *options, "--", *command)[0]
    assert [["failed", "signal 35"]] == table(launches.the_run(), "state", "exit")


def test_a_run_that_goes_on_and_is_then_lost(launches: Any) -> None:
    """The state is the launcher's, asked of the kernel and not of a clock."""
    process = launches.start(options=("--workers=2",))
    launches.note(0, 1)
    folder = launches.the_run()
    until((folder / "attempts/1.members.json").exists, "the members")
    assert "running" == read_run_status(locate(folder)).state
    assert [["running"]] * 2 == table(folder, "state")
    process.kill()
    finish(process)
    assert "lost" == read_run_status(locate(folder)).state
    assert [["lost"]] * 2 == table(folder, "state")


def test_the_newest_step_and_loss_are_shown(launches: Any) -> None:
    """Though other events came after them, and the last line is cut off."""
    launches.go()
    assert 0 == finish(launches.start(options=("--workers=1",)))[0]
    folder = launches.the_run()
    (folder / "progress").mkdir(exist_ok=True)
    (folder / "progress/0.jsonl").write_text(
        '{"event": "step", "step": 1, "loss": 0.5}\n'
        '{"event": "step", "step": 2, "loss": 0.123456789}\n'
        '{"event": "end", "step": 3}\n[1]\nnonsense\n{"step": 4, "lo'
    )
    assert [["3", "0.123457"]] == table(folder, "step", "loss")


def test_a_loss_that_is_no_number_is_none_for_programs(launches: Any) -> None:
    """JSON has no NaN; people are shown it."""
    launches.go()
    assert 0 == finish(launches.start(options=("--workers=1",)))[0]
    folder = launches.the_run()
    (folder / "progress").mkdir(exist_ok=True)
    line = {"step": 1, "loss": float("nan"), "input_wait": [float("inf")], "steps_per_second": 2.0}
    (folder / "progress/0.jsonl").write_text(json.dumps(line))
    assert [["nan"]] == table(folder, "loss")
    (worker,) = data_of(folder)["workers"]
    expected = {"step": 1, "loss": None, "input_wait": [None], "steps_per_second": 2.0}
    assert expected == worker["progress"]


def test_the_launcher_s_record_of_the_progress_is_shown(launches: Any) -> None:
    """The newest of the last attempt, and what it does not tell from the attempt before it."""
    launches.go()
    process = launches.start("0.1:exit=3", options=("--workers=2",))
    assert 0 == finish(process)[0]
    folder = launches.the_run()
    shutil.rmtree(folder / "progress", ignore_errors=True)
    (folder / "progress").mkdir()
    used = {"memory_bytes": 0, "peak_memory_bytes": 3 << 30}
    first = {"attempt": 1, "step": 7, "loss": 0.5, "steps_per_second": 2.0, "usage": used}
    second = {"attempt": 2, "step": 9, "usage": used | {"peak_memory_bytes": 2 << 30}}
    stale = {"rank": 0, "attempt": 2, "step": 8}
    for name, lines in {
        "1.1": [first | {"rank": 0}, first | {"rank": 1}],
        "2.9": [stale],
        "2.10": [second | {"rank": 0}, [1], {"rank": "x"}],
    }.items():
        text = "\n".join(map(json.dumps, lines))
        (folder / f"progress/{name}.jsonl").write_text(f"{text}\nnonsense\n")
    rows = table(folder, "rank", "step", "loss", "steps/s", "memory")
    assert [["0", "9", "0.5", "-", "2.0 GiB"], ["1", "7", "0.5", "2", "-"]] == rows


def test_the_wall_time_of_all_attempts_is_shown(launches: Any) -> None:
    """By class, from the records of the launcher and what a trainer measured in each attempt."""
    launches.go()
    assert 0 == finish(launches.start("0.1:exit=3", options=("--workers=2",)))[0]
    folder = launches.the_run()
    assert {} == data_of(folder)["seconds"]  # this program measures nothing
    shutil.rmtree(folder / "progress", ignore_errors=True)
    (folder / "progress").mkdir()
    for attempt, first in ((1, 0), (2, 5)):
        seconds = {"importing": 0.001, "steps": 0.002}
        line = {"rank": 0, "attempt": attempt, "from_step": first, "step": 10, "seconds": seconds}
        (folder / f"progress/{attempt}.1.jsonl").write_text(json.dumps(line))
    found = data_of(folder)["seconds"]
    first, last = read_attempts(locate(folder))[0], read_attempts(locate(folder))[-1]
    begun, ended = (
        datetime.fromisoformat(each).timestamp()
        for each in (first.started.started, last.ended.ended)  # type: ignore[union-attr, arg-type]
    )
    assert ended - begun == pytest.approx(sum(found.values()), abs=0.01)
    assert (0.002, 0.003) == (found["importing"], found["steps"])
    assert found["restart"] > 0
    assert found["lost_steps"] > 0
    assert any(line.startswith("lost steps ") for line in lines_of(folder))
    assert first.formed is not None
    assert first.formed.localising_s <= found["containers"] + found["localising"] + 0.01


def test_what_a_terminal_would_obey_is_escaped(launches: Any) -> None:
    """Records are data from outside."""
    launches.go()
    process = launches.start("9.9:say=\x1b[2Jgone", options=("--workers=1",))
    assert 0 == finish(process)[0]
    text = "\n".join(lines_of(launches.the_run()))
    assert "\\x1b[2Jgone" in text
    assert "\x1b" not in text


def test_a_run_that_was_committed_without_a_launcher(tmp_path: Path) -> None:
    """There is a manifest, and no worker to tell of."""
    (tmp_path / "manifest.json").write_text("{}")
    assert "committed" == read_run_status(locate(tmp_path)).state
    assert [] == read_attempts(locate(tmp_path))
    assert f"manifest  {tmp_path / 'manifest.json'}" in lines_of(tmp_path)
