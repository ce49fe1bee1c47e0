"""`inspect`: what a run is; and how far, when it was not finished."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from trainer_program import Trained, Trainer


@pytest.mark.parametrize("name", ["nothing", "shards", "shards/demo/shards"])
def test_what_is_no_run_is_told(trainer: Trainer, trained: Trained, name: str) -> None:
    """Exit code 66, and how to find those there are."""
    ran = trainer("inspect", trained.root / name)
    assert 66 == ran.code
    assert "audioloom-trainer list" in ran.err


def test_other_kinds_are_told(trainer: Trainer, trained: Trained) -> None:
    """Exit code 65."""
    ran = trainer("inspect", trained.root / "shards" / "demo")
    assert 65 == ran.code
    assert "a shards manifest" in ran.err


@pytest.mark.parametrize("damage", ["lost", "changed", "longer"])
def test_a_damaged_run_names_the_file(
    trainer: Trainer, trained: Trained, tmp_path: Path, damage: str
) -> None:
    """66 for what is gone, 65 for what is another."""
    copied = trained.copy(tmp_path)
    where = Path(copied.run.folder.path, copied.run.files("history")[0].path)
    if damage == "lost":
        where.unlink()
    else:
        data = where.read_bytes()
        where.write_bytes(data + b" " if damage == "longer" else data.replace(b"1", b"2"))
    ran = trainer("inspect", copied.run.folder)
    assert (66 if damage == "lost" else 65) == ran.code
    assert where.name in ran.err


def test_a_committed_run_is_shown(trainer: Trainer, trained: Trained) -> None:
    """What it is, what it scored, how it came there."""
    ran = trainer("inspect", trained.run.folder)
    assert 0 == ran.code
    for text in (
        trained.run.manifest.identity,
        "builtin:conv1d filters=4",
        "12 of 16 records, 2 epochs",
        "splits      made by recording, no two share a group",
        "report-",
        "majority",
        "val_accuracy",
        "steps waited for input",
        "wall time",
        "importing",
    ):
        assert text in ran.out
    *_, history = ran.out.rpartition("\n\n")
    assert ["epoch", "loss"] == history.split()[:2]
    data = trainer("inspect", trained.run.location, "--json").data
    assert "committed" == data["state"]
    assert [1, 2] == [entry["epoch"] for entry in data["history"]]
    assert trained.run.manifest.to_json() == data["manifest"]


def test_a_path_with_a_space_can_be_pasted(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """The next commands are quoted."""
    copied = trained.copy(tmp_path / "a folder")
    lines = trainer("inspect", copied.run.folder).err.splitlines()
    commands = [shlex.split(line.removeprefix("next: ")) for line in lines]
    assert [str(copied.run.folder)] * 2 == [words[2] for words in commands]


@pytest.mark.parametrize("place", ["", "/manifest.json"])
def test_an_unfinished_run_says_how_far(
    trainer: Trainer, trained: Trained, tmp_path: Path, place: str
) -> None:
    """By its checkpoints, and the last word of each worker; damaged lines are passed over."""
    copied = trained.copy(tmp_path)
    Path(copied.run.location.path).unlink()
    progress = Path(copied.run.folder.path, "progress")
    (progress / "1.jsonl").write_text(
        '{"event": "step", "step": 7, "attempt": 2, "time": "now"}\n{"event": "st'
    )
    (progress / "2.jsonl").write_bytes(b"\xff\xfe")
    (progress / "notes.txt").write_text("mine")
    folder = f"{copied.run.folder}{place}"
    ran = trainer("inspect", folder)
    assert 0 == ran.code
    assert "not committed" in ran.out
    assert "checkpoints: step-00000012" in ran.out
    data = trainer("inspect", folder, "--json").data
    assert ("unfinished", [12]) == (data["state"], data["checkpoints"])
    assert data["seconds"]["steps"] > 0
    assert "wall time" in ran.out
    assert {"0": "done", "1": "step"} == {
        rank: line["event"] for rank, line in data["workers"].items()
    }


def test_a_launcher_has_published_the_progress_of_all_workers(
    trainer: Trainer, tmp_path: Path
) -> None:
    """In one file; the newest attempt counts, of it the highest number, of each worker its own."""
    progress = tmp_path / "runs" / "x" / "progress"
    progress.mkdir(parents=True)

    def line(rank: int, step: int) -> str:
        return json.dumps({"rank": rank, "event": "step", "step": step, "time": "now"}) + "\n"

    usage_alone = json.dumps({"rank": 1, "usage": {"memory_bytes": 1}}) + "\n"
    (progress / "0.jsonl").write_text(line(0, 1))
    (progress / "2.9.jsonl").write_text(line(0, 2))
    (progress / "2.10.jsonl").write_text(line(0, 3) + line(1, 3))
    (progress / "10.1.jsonl").write_text(line(0, 4) + usage_alone)
    data = trainer("inspect", tmp_path / "runs" / "x", "--json").data
    assert {"0": 4, "1": 3} == {rank: found["step"] for rank, found in data["workers"].items()}


def test_a_run_that_never_trained_is_the_launchers_to_explain(
    trainer: Trainer, tmp_path: Path
) -> None:
    """Its attempts are there; the command that shows them is named."""
    (tmp_path / "runs" / "x" / "attempts").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "attempts" / "1.json").write_text("{}")
    ran = trainer("inspect", tmp_path / "runs" / "x")
    assert 66 == ran.code
    assert f"audioloom-yarn-launcher status {tmp_path}/runs/x" in ran.err
