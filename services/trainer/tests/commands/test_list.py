"""`list`: what is there, also when it is half there."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trainer_program import Trained, Trainer


def test_a_missing_root_is_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66."""
    assert 66 == trainer("list", "--root", tmp_path / "nothing").code


def test_an_empty_root_says_so(trainer: Trainer, tmp_path: Path) -> None:
    """No table of nothing."""
    ran = trainer("list", "--root", tmp_path)
    assert (0, f"no runs under {tmp_path}\n") == (ran.code, ran.out)


def test_all_runs_are_listed(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Committed, unfinished, unreadable, and what is no training run."""
    copied = trained.copy(tmp_path)
    runs, name = tmp_path / "runs", copied.run.manifest.name
    shutil.copytree(runs / name, runs / "half")
    (runs / "half" / "manifest.json").unlink()
    shutil.rmtree(runs / "half" / "progress")  # its state would depend on how long ago it was made
    (runs / "begun").mkdir()
    (runs / "torn").mkdir()
    (runs / "torn" / "manifest.json").write_text("{")
    shutil.copytree(tmp_path / "shards" / "demo", runs / "alien")
    shutil.copytree(runs / name, runs / "forged")
    forged = runs / "forged" / "manifest.json"
    forged.write_text(forged.read_text().replace('"seed": ', '"seed": 1'))
    (runs / "notes.txt").write_text("mine")
    data = trainer("list", "--root", tmp_path, "--json").data
    found = {each["name"]: each for each in data["runs"]}
    assert {name, "half", "begun", "torn", "alien", "forged"} == found.keys()
    assert "committed" == found[name]["state"]
    assert sum(copied.run.manifest.execution.seconds.values()) == found[name]["seconds"]
    assert ("unfinished", [12]) == (found["half"]["state"], found["half"]["checkpoints"])
    assert ("unfinished", []) == (found["begun"]["state"], found["begun"]["checkpoints"])
    assert {"unreadable"} == {found[each]["state"] for each in ("torn", "forged", "alien")}
    assert f"found {copied.run.manifest.identity}" in found["forged"]["detail"]
    assert "found a shards manifest" in found["alien"]["detail"]
    text = trainer("list", "--root", tmp_path).out
    scores = trained.run.manifest.stats.scores
    assert all(f"{name}={scores[name]['accuracy']:.3g}" in text for name in ("test", "val"))
    assert all(name in text for name in found)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([{"event": "step"}], "running"),
        ([{"event": "step", "time": "2020-01-01T00:00:00+00:00"}], "killed"),
        ([{"event": "stopped"}], "stopped"),
        ([{"event": "step"}, {"event": "failed", "text": "NaN"}], "failed"),
    ],
)
def test_a_run_without_a_manifest_is_told_by_its_progress(
    trainer: Trainer, tmp_path: Path, lines: list[dict[str, str]], state: str
) -> None:
    """Of two workers, one may have failed; who is silent for long was killed."""
    now = datetime.now(UTC).isoformat()
    folder = tmp_path / "runs" / "one" / "progress"
    folder.mkdir(parents=True)
    for rank, line in enumerate(lines):
        (folder / f"{rank}.jsonl").write_text(json.dumps({"time": now, **line}) + "\n")
    (run,) = trainer("list", "--root", tmp_path, "--json").data["runs"]
    assert state == run["state"]
    assert run.get("detail", "") == ("NaN" if state == "failed" else "")
