from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audioloom_runs import run_list
from audioloom_stage.errors import InputMissing
from audioloom_storage import Entry, Location, PermissionDenied, locate
from audioloom_yarn_launcher.commands.list import list_runs
from audioloom_yarn_launcher.runs.attempts import (
    AttemptEnd,
    AttemptStarted,
    begin,
    publish_record,
)
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.settings import ListSettings


def begun(root: Path, name: str, *, ended: str | None) -> None:
    """A run of this process, at work or ended."""
    folder = locate(str(root)) / f"runs/{name}"
    what: Any = {"attempt": 1, "generation": 0, "launch": "0" * 32, "started": "2026-01-01T00:00Z"}
    started = AttemptStarted(
        **what, on="local", size=1, command=("x",), working_folder="", owner=this_process()
    )
    begin(folder, started)
    if ended is not None:
        publish_record(folder, AttemptEnd(**what, ended="x", outcome=ended, exit_code=1))


def test_every_run_has_a_line_with_its_state(tmp_path: Path) -> None:
    """Also one that another program began, and one whose records are broken."""
    begun(tmp_path, "works", ended=None)
    begun(tmp_path, "broke", ended="failed")
    begun(tmp_path, "torn", ended=None)
    (tmp_path / "runs/torn/attempts/1.started.json").write_text("{")
    (tmp_path / "runs/trainers/checkpoints").mkdir(parents=True)
    answer = list_runs(ListSettings(root=str(tmp_path)))
    found: Any = answer.data["runs"]
    states = {each["name"]: each["state"] for each in found}
    assert {
        "works": "forming",
        "broke": "failed",
        "torn": "unreadable",
        "trainers": "unfinished",
    } == states
    assert {"local"} == {each["on"] for each in found if "on" in each}
    assert {None} == {each["seconds"] for each in found}  # nothing has measured them
    lines = str(answer.text).splitlines()
    assert ["name", "state", "changed", "bytes"] == lines[0].split()[:4]
    assert 5 == len(lines)


def test_a_run_of_another_user_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records may not be read, and those of the other runs are shown."""
    begun(tmp_path, "mine", ended="failed")
    begun(tmp_path, "theirs", ended="failed")
    walk = run_list.walk

    def guarded(folder: Location, **more: Any) -> Iterator[Entry]:
        if folder.name == "theirs":
            raise PermissionDenied("access denied", where=folder / "attempts")
        return walk(folder, **more)

    monkeypatch.setattr(run_list, "walk", guarded)
    found: Any = list_runs(ListSettings(root=str(tmp_path))).data["runs"]
    assert {"mine": "failed", "theirs": "unreadable"} == {e["name"]: e["state"] for e in found}
    assert ["attempts" in each["detail"] for each in found if "detail" in each] == [True]


def test_a_root_without_runs(tmp_path: Path) -> None:
    """It is said; a root that is missing is a mistake."""
    assert f"no runs under {tmp_path}" == list_runs(ListSettings(root=str(tmp_path))).text
    with pytest.raises(InputMissing):
        list_runs(ListSettings(root=str(tmp_path / "nothing")))


def test_the_duration_of_a_training_is_shown(tmp_path: Path) -> None:
    """From what the trainer noted, also while it runs or after it failed."""
    begun(tmp_path, "broke", ended="failed")
    line = {"event": "step", "attempt": 1, "since": 1e9, "seconds": {"importing": 5, "steps": 70}}
    (tmp_path / "runs/broke/progress").mkdir()
    (tmp_path / "runs/broke/progress/0.1.jsonl").write_text(json.dumps(line) + "\n")
    answer = list_runs(ListSettings(root=str(tmp_path)))
    (found,) = answer.data["runs"]  # type: ignore[misc]
    assert found["seconds"] >= 75  # type: ignore[index,call-overload]
    assert "duration" in str(answer.text).splitlines()[0].split()
