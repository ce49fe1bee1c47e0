"""`gc` takes what nothing needs, and nothing else."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from audioloom_manifest.garbage_collection import remove_garbage
from audioloom_storage import Entry, Location
from audioloom_trainer.commands import gc as gc_module
from audioloom_trainer.commands.gc import is_ours
from trainer_program import Trained, Trainer

DIGEST = "0123456789ab"
OURS = (
    f"files-{DIGEST}.jsonl",
    f"report-{DIGEST}.html",
    f"source/{DIGEST}/package_of_mine/layers.py",
    "logs/tensorboard/train/events.out.tfevents.1700000000.000001.01234567",
    f"model/weights-{DIGEST}.npz",
    f"model/history-{DIGEST}.json",
    f"model/keras-{DIGEST}.keras",
    f"model/saved-model-{DIGEST}/variables/variables.index",
    f"model/.weights-{DIGEST}.npz.0123456789abcdef.part",
    "progress/.0.jsonl.0123456789abcdef.part",
    "evaluations/.step-00000012.json.0123456789abcdef.part",
    "attempts/.1.members.json.0123456789abcdef.part",
    "progress/.1.7.jsonl.0123456789abcdef.part",
    "logs/0/.1.0-300.log.0123456789abcdef.part",
    f"checkpoints/step-00000006/state-{DIGEST}.npz",
)
FOREIGN = (
    "notes.txt",
    ".thesis.tex.0123456789abcdef.part",
    "model/.thesis.tex.0123456789abcdef.part",
    "attempts/.thesis.json.0123456789abcdef.part",
    "model/weights.npz",
    "model/best.keras",
    "model/saved-model/saved_model.pb",
    f"model/saved-model-{DIGEST}/thesis.pdf",
    f"model/saved-model-{DIGEST}/variables/notes.txt",
    "checkpoints/notes.txt",
    "checkpoints/step-00000006/notes.txt",
    "attempts/1.json",
    "logs/0/1.log",
    "logs/0/1.0-300.log",
    "logs/tensorboard/train/notes.txt",
    "progress/1.jsonl",
    "progress/1.7.jsonl",
)


@pytest.fixture
def copied(trained: Trained, tmp_path: Path) -> Trained:
    """A committed run, with what others and dead tries have left beside it."""
    found = trained.copy(tmp_path)
    for name in (*OURS, *FOREIGN):
        path = Path(found.run.folder.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    age(tmp_path, hours=48)
    return found


def age(folder: Path, hours: float) -> None:
    then = time.time() - hours * 3600
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_dry_run_touches_nothing(
    trainer: Trainer, copied: Trained, tmp_path: Path, words: list[str]
) -> None:
    """It shows what would go: what dead tries left, and the checkpoint of the finished run."""
    before = files(tmp_path)
    ran = trainer("gc", "--root", tmp_path, *words)
    assert 0 == ran.code
    assert before == files(tmp_path)
    for name in (*OURS, "checkpoints/step-00000012/commit.json"):
        assert f"{copied.run.folder}/{name}" in ran.out
    assert f"would delete {len(OURS) + 2} files" in ran.out
    command = shlex.split(ran.err.removeprefix("next: "))
    assert ["audioloom-trainer", "gc", "--root", str(tmp_path), "--delete"] == command


def test_only_ours_and_unneeded_goes(trainer: Trainer, copied: Trained, tmp_path: Path) -> None:
    """Foreign names, the run's story and all that the manifest names stay; the run works."""
    folder = Path(copied.run.folder.path)
    named = {entry.path for entry in copied.run.files()}
    ran = trainer("gc", "--root", tmp_path, "--delete", "--json")
    assert (True, len(OURS) + 2) == (ran.data["deleted"], len(ran.data["files"]))
    expected = {"manifest.json", copied.run.manifest.files.name, "progress/0.jsonl", *named}
    assert expected | set(FOREIGN) == files(folder)
    assert 0 == trainer("inspect", folder).code
    assert [] == trainer("gc", "--root", tmp_path, "--delete", "--json").data["files"]


def test_an_emptied_folder_of_checkpoints_goes(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Of a committed run, for nothing writes there any more."""
    copied = trained.copy(tmp_path)
    age(tmp_path, hours=48)
    trainer("gc", "--root", tmp_path, "--delete")
    assert not Path(copied.run.folder.path, "checkpoints").exists()


@pytest.mark.parametrize("place", ["", "model", f"model/saved-model-{DIGEST}", "checkpoints"])
def test_links_are_not_followed(
    trainer: Trainer, copied: Trained, tmp_path: Path, place: str
) -> None:
    """Of the run, or of a folder in it: neither the link goes nor what lies behind it."""
    linked, moved = Path(copied.run.folder.path, place), tmp_path / "elsewhere"
    linked.rename(moved)
    linked.symlink_to(moved)
    before = files(moved)
    found = trainer("gc", "--root", tmp_path, "--delete", "--older-than", "0s", "--json").data[
        "files"
    ]
    assert [] == [name for name in found if Path(name).is_relative_to(linked)]
    assert (before, True) == (files(moved), linked.is_symlink())


def test_a_folder_of_checkpoints_with_a_link_stays(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """A link is not ours, and so the folder is not empty."""
    folder = Path(trained.copy(tmp_path).run.folder.path, "checkpoints")
    (folder / "best").symlink_to(tmp_path)
    age(tmp_path, hours=48)
    trainer("gc", "--root", tmp_path, "--delete")
    assert (folder / "best").is_symlink()


def test_all_that_is_written_is_known(trained: Trained) -> None:
    """A new file with a name that gc does not know would never go."""
    assert [] == [entry.path for entry in trained.run.files() if not is_ours(entry.path)]


def test_what_is_young_stays(trainer: Trainer, copied: Trained, tmp_path: Path) -> None:
    """A run may be writing it; the hours are part of the command that is shown."""
    age(tmp_path, hours=2)
    assert [] == trainer("gc", "--root", tmp_path, "--delete", "--json").data["files"]
    ran = trainer("gc", "--root", tmp_path, "--older-than", "1h")
    assert "--delete --older-than 60m" in ran.err


def test_an_unfinished_run_keeps_its_checkpoints(
    trainer: Trainer, copied: Trained, tmp_path: Path
) -> None:
    """A rerun goes on from the whole ones; half ones and temporary files go."""
    Path(copied.run.location.path).unlink()
    gone = {name for name in OURS if name.endswith(".part") or name.startswith("checkpoints/")}
    folder = Path(copied.run.folder.path)
    before = files(folder)
    trainer("gc", "--root", tmp_path, "--delete")
    assert before - gone == files(folder)


@pytest.fixture
def half(copied: Trained) -> Path:
    """An old checkpoint of an unfinished run that is whole but for its record; the folder."""
    run = Path(copied.run.folder.path)
    Path(copied.run.location.path).unlink()
    (checkpoint,) = (path.parent for path in run.glob("checkpoints/*/commit.json"))
    (checkpoint / "commit.json").rename(run / "record")
    return checkpoint


@pytest.mark.parametrize("anew", [False, True])
def test_a_checkpoint_that_became_whole_meanwhile_stays(
    trainer: Trainer, half: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    """Between the search and the removal a training that went on may write the same names."""
    (state,) = half.glob("state-*.npz")

    def later(root: Location, found: Iterable[Entry]) -> Iterator[Entry]:
        if anew:
            data = state.read_bytes()
            state.unlink()
            state.write_bytes(data)
        (half.parent.parent / "record").rename(half / "commit.json")
        return remove_garbage(root, found)

    monkeypatch.setattr(gc_module, "remove_garbage", later)
    removed = trainer("gc", "--root", tmp_path, "--delete", "--json").data["files"]
    assert any(name.endswith(".part") for name in removed)
    assert {"commit.json", state.name} == files(half)


@pytest.mark.parametrize("text", ["", "{", '{"kind": "checkpoint", "version": "2.0"}'])
def test_a_checkpoint_whose_record_cannot_be_read_stays(
    trainer: Trainer, half: Path, tmp_path: Path, text: str
) -> None:
    """A later release may have written it; what it needs is not known."""
    (half / "commit.json").write_text(text)
    before = files(half)
    age(tmp_path, hours=48)
    trainer("gc", "--root", tmp_path, "--delete")
    assert before == files(half)


@pytest.mark.parametrize("name", ["drafts", "step-00000012/drafts", "step-1"])
def test_empty_folders_of_others_stay(
    trainer: Trainer, trained: Trained, tmp_path: Path, name: str
) -> None:
    """Beside the checkpoints, or in one of them: we give no such names."""
    folder = Path(trained.copy(tmp_path).run.folder.path, "checkpoints", name)
    folder.mkdir()
    age(tmp_path, hours=48)
    trainer("gc", "--root", tmp_path, "--delete")
    assert folder.is_dir()


def test_a_young_folder_of_checkpoints_stays(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Somebody may be about to write there; an old one beside it goes."""
    folder = Path(trained.copy(tmp_path).run.folder.path, "checkpoints")
    age(tmp_path, hours=48)
    (folder / "step-00000099").mkdir()
    trainer("gc", "--root", tmp_path, "--delete")
    assert [folder / "step-00000099"] == list(folder.iterdir())


def test_a_run_that_cannot_be_read_is_left_alone(
    trainer: Trainer, copied: Trained, tmp_path: Path
) -> None:
    """What it names is not known."""
    Path(copied.run.location.path).write_text("{")
    age(tmp_path, hours=48)
    assert [] == trainer("gc", "--root", tmp_path, "--delete", "--json").data["files"]


def test_delete_and_dry_run_exclude_each_other(trainer: Trainer, tmp_path: Path) -> None:
    """Both is a mistake, so neither is done."""
    assert 2 == trainer("gc", "--root", tmp_path, "--delete", "--dry-run").code


def test_a_missing_root_is_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66."""
    assert 66 == trainer("gc", "--root", tmp_path / "nothing").code
