"""`evaluate --follow`: the scores of checkpoints, while a run is at work and afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import Entry, Location, Unavailable, list_folder
from audioloom_trainer.commands import evaluate
from trainer_program import SMALL, RetryFor, Trained, Trainer, call

MODEL = SMALL[4:]


def evaluations(folder: Path) -> dict[int, dict[str, Any]]:
    """What was scored, by step."""
    found = [json.loads(path.read_text()) for path in (folder / "evaluations").iterdir()]
    return {each["step"]: each for each in found}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["RUN", "--follow"], "--follow needs --shards"),
        (["--follow", "--shards", "SHARDS"], "where no launcher names it"),
        ([], "RUN is required"),
        (["RUN", "--model-arg", "a=1"], "are for --follow"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    trainer: Trainer, trained: Trained, words: list[str], text: str
) -> None:
    """Before anything is read."""
    known = {"RUN": trained.run.folder, "SHARDS": trained.root / "shards/demo"}
    ran = trainer("evaluate", *(known.get(word, word) for word in words))
    assert 2 == ran.code
    assert text in ran.err


def test_another_model_is_refused(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Its weights have other shapes, and nothing is written."""
    copied = trained.copy(tmp_path)
    shards = tmp_path / "shards/demo"
    ran = trainer("evaluate", copied.run.folder, "--follow", "--shards", shards)
    assert 65 == ran.code
    assert "those that were given to run" in ran.err
    assert not Path(copied.run.folder.path, "evaluations").exists()


def test_storage_that_is_away_at_first_is_waited_for(
    trainer: Trainer,
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retry_for: RetryFor,
) -> None:
    """As at any later time."""
    retry_for(60.0, first_pause=0.001)
    copied = trained.copy(tmp_path)
    asked = []

    def away_once(folder: Location) -> Iterable[Entry]:
        asked.append(folder)
        if len(asked) == 1:
            raise Unavailable("gone")
        return list_folder(folder)

    monkeypatch.setattr(evaluate, "list_folder", away_once)
    words = ("evaluate", copied.run.folder, "--follow", "--shards", tmp_path / "shards/demo")
    ran = trainer(*words, *MODEL)
    assert 0 == ran.code, ran.err
    assert 2 == len(asked)


def test_the_last_checkpoint_scores_as_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """All that are left are scored once; the next time there is nothing to do."""
    copied = trained.copy(tmp_path)
    words = ("evaluate", copied.run.folder, "--follow", "--shards", tmp_path / "shards/demo")
    ran = trainer(*words, *MODEL)
    assert 0 == ran.code, ran.err
    found = evaluations(Path(copied.run.folder.path))
    last = max(found)
    assert copied.run.manifest.stats.steps == last
    for split, scores in copied.run.manifest.stats.scores.items():
        if split in found[last]["scores"]:
            assert pytest.approx(scores["loss"], rel=1e-5) == found[last]["scores"][split]["loss"]
    again = trainer(*words, *MODEL)
    assert (0, "nothing was left to be scored") == (again.code, again.out.strip())


@pytest.mark.slow
def test_it_ends_when_the_run_does(trained: Trained, tmp_path: Path) -> None:
    """Begun before the training, below a launcher, whose variable names the run."""
    folder = tmp_path / "runs/followed"
    shards = trained.root / "shards/demo"
    program = Path(sys.executable).with_name("audioloom-trainer")
    words = [program, "evaluate", "--follow", "--shards", shards, "--split", "val", *MODEL]
    variables = {"AUDIOLOOM_RUN_FOLDER": folder.as_uri(), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(words, env=variables, stderr=subprocess.PIPE, text=True) as follower:
        ran = call("run", shards, *SMALL, "--name", "followed", "--root", tmp_path)
        assert 0 == ran.code, ran.err
        _, err = follower.communicate(timeout=300)
    assert 0 == follower.returncode, err
    steps = evaluations(folder)
    assert {"val"} == set(steps[max(steps)]["scores"])
