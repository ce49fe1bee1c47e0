"""`list`: what is there, also when it is half there."""

from __future__ import annotations

import shutil
from pathlib import Path

from trainer_program import Trained, Trainer


def test_a_missing_root_is_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66."""
    assert 66 == trainer("list", tmp_path / "nothing").code


def test_an_empty_root_says_so(trainer: Trainer, tmp_path: Path) -> None:
    """No table of nothing."""
    ran = trainer("list", tmp_path)
    assert (0, f"no training runs under {tmp_path}\n") == (ran.code, ran.out)


def test_all_runs_are_listed(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Committed, unfinished, unreadable, and what is no training run."""
    copied = trained.copy(tmp_path)
    runs, name = tmp_path / "runs", copied.run.manifest.name
    shutil.copytree(runs / name, runs / "half")
    (runs / "half" / "manifest.json").unlink()
    (runs / "begun").mkdir()
    (runs / "torn").mkdir()
    (runs / "torn" / "manifest.json").write_text("{")
    shutil.copytree(tmp_path / "shards" / "demo", runs / "alien")
    shutil.copytree(runs / name, runs / "forged")
    forged = runs / "forged" / "manifest.json"
    forged.write_text(forged.read_text().replace('"seed": ', '"seed": 1'))
    (runs / "notes.txt").write_text("mine")
    data = trainer("list", tmp_path, "--json").data
    found = {each["name"]: each for each in data["runs"]}
    assert {name, "half", "begun", "torn", "alien", "forged"} == found.keys()
    assert "committed" == found[name]["state"]
    assert ("unfinished", [12]) == (found["half"]["state"], found["half"]["checkpoints"])
    assert ("unfinished", []) == (found["begun"]["state"], found["begun"]["checkpoints"])
    assert found["torn"]["state"].startswith("unreadable")
    assert f"found {copied.run.manifest.identity}" in found["forged"]["state"]
    assert "a shards manifest" == found["alien"]["state"]
    text = trainer("list", tmp_path).out
    scores = trained.run.manifest.stats.scores
    assert f"test:{scores['test']['accuracy']:.3f} val:{scores['val']['accuracy']:.3f}" in text
    assert all(name in text for name in found)
