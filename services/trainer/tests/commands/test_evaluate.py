"""`evaluate`: the scores of a committed run, and what it refuses to score."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import Opened, read_manifest
from manifest_editing import edit_manifest
from shard_maker import make_shards
from trainer_edits import edit_file
from trainer_program import Trained, Trainer

SCORES = """
import keras

def surely(y, predictions):
    return keras.ops.mean(keras.ops.max(predictions, axis=-1))
"""
OWN = """
from audioloom_trainer.networks import conv1d
from scores_of_mine import surely

def build(shape, classes):
    model = conv1d(shape, classes)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy", surely])
    return model
"""


@pytest.fixture(scope="module")
def other(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shards that the run was not trained on, by what is different about them."""
    root = tmp_path_factory.mktemp("other")
    few: Any = {"records": {"val": 12}, "lanes": 2}
    made = {
        "more": make_shards(root, name="more", records={"new": 12, "val": 9}, lanes=2),
        "half": make_shards(root, name="half", dtype="float16", **few),
        "shape": make_shards(root, name="shape", shape=(6, 21), **few),
        "labels": make_shards(root, name="labels", labels=("calm", "glad", "angry"), **few),
        "numbers": make_shards(root, name="numbers", numbers=True, **few),
        "train": make_shards(root, name="train", records={"train": 12}, lanes=2),
    }
    return {name: Path(each.folder.path) for name, each in made.items()}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shape", "trained on other features"),
        ("labels", "trained on other labels"),
        ("numbers", "trained on other targets"),
        ("train", "Give --split train"),
    ],
)
def test_scores_that_would_mean_nothing_are_refused(
    trainer: Trainer, trained: Trained, other: dict[str, Path], name: str, text: str
) -> None:
    """Exit code 65, both sides named, before TensorFlow does anything."""
    ran = trainer("evaluate", trained.run.folder, "--shards", other[name])
    assert (65, "") == (ran.code, ran.out)
    assert text in ran.err


@pytest.fixture
def own(
    trainer: Trainer, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Opened[Any]:
    """A run of a model function in a file of the user's, with a metric of its own."""
    file = tmp_path / "my model.py"
    file.write_text(OWN)
    (tmp_path / "scores_of_mine.py").write_text(SCORES)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the trainer appends the folder
    sys.modules.pop("scores_of_mine", None)
    words = ("--epochs", 1, "--model", f"{file}:build", "--root", tmp_path, "--name", "own")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err
    return read_manifest(ran.out.strip(), "training-run")


def test_the_file_of_the_model_has_to_be_given(
    trainer: Trainer, own: Opened[Any], tmp_path: Path
) -> None:
    """And to be the one that was trained, and the function too; a path elsewhere is not told."""
    words, file = ("evaluate", own.folder), tmp_path / "my model.py"
    without = trainer(*words)
    assert (78, "") == (without.code, without.out)
    assert "surely" in without.err
    assert "Give --model again: the run was made with my model.py:build" in without.err
    other = trainer(*words, "--model", f"{__file__}:build")
    assert 78 == other.code
    assert own.manifest.recipe.model.sha256 in other.err
    function = trainer(*words, "--model", f"{file}:surely")
    assert 78 == function.code
    assert "the function that was trained" in function.err
    here = trainer("inspect", own.folder)
    assert (0, True) == (here.code, f"--model '{file}:build'" in here.err), here.err


def test_a_run_keeps_the_files_of_its_model(
    trainer: Trainer, own: Opened[Any], tmp_path: Path
) -> None:
    """With the module beside it; whoever names the copy can score the run by it."""
    for name in ("my model.py", "scores_of_mine.py"):
        (tmp_path / name).rename(tmp_path / f"moved {name}")  # as after a run in a container
    digest = own.manifest.recipe.model.sha256[:12]
    kept = Path(own.folder.path, "source", digest)
    assert {"my model.py": OWN, "scores_of_mine.py": SCORES} == {
        each.name: each.read_text() for each in kept.iterdir()
    }
    shown = trainer("inspect", own.folder)
    assert (0, True) == (shown.code, f"--model '{kept}/my model.py:build'" in shown.err), shown.err
    assert f"the run keeps it: {kept}/my model.py:build" in trainer("evaluate", own.folder).err
    del sys.modules["scores_of_mine"]
    scored = trainer("evaluate", own.folder, "--model", f"{kept}/my model.py:build")
    assert 0 == scored.code, scored.err
    assert 0 == trainer("verify", own.folder).code


@pytest.fixture(scope="module")
def plain_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the run that `plain` copies; the first test that needs it trains the run."""
    return tmp_path_factory.mktemp("plain")


@pytest.fixture
def plain(trainer: Trainer, trained: Trained, plain_root: Path, tmp_path: Path) -> Opened[Any]:
    """A run of a function in a file that is gone by now, whose model is of Keras alone."""
    if not (plain_root / "runs").exists():
        file = plain_root / "plain.py"
        file.write_text("from audioloom_trainer.networks import conv1d as build\n")
        words = ("--epochs", 1, "--model", f"{file}:build", "--root", plain_root, "--name", "plain")
        ran = trainer("run", trained.root / "shards" / "demo", *words)
        assert 0 == ran.code, ran.err
        file.unlink()
    shutil.copytree(plain_root, tmp_path, dirs_exist_ok=True)
    return read_manifest(str(tmp_path / "runs" / "plain"), "training-run")


def test_a_model_of_keras_alone_needs_no_file(trainer: Trainer, plain: Opened[Any]) -> None:
    """The scores are those of the training, to the last bit; and it is said so."""
    ran = trainer("evaluate", plain.folder, "--json")
    assert 0 == ran.code, ran.err
    stats = plain.manifest.stats.scores
    scores = {name: each["scores"] for name, each in ran.data["splits"].items()}
    assert {name: dict(each) for name, each in stats.items()} == scores
    inspected = trainer("inspect", plain.folder)
    assert (0, False) == (inspected.code, "--model" in inspected.err), inspected.err


def test_what_a_manifest_names_is_not_imported(
    trainer: Trainer, plain: Opened[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the module is there, with that digest: its own architecture is taken instead."""
    module = tmp_path / "planted.py"
    module.write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    model = {
        "function": "planted:build",
        "sha256": hashlib.sha256(module.read_bytes()).hexdigest(),
        "revision": None,
        "arguments": {},
    }
    edit_manifest(plain, lambda value: value["recipe"].update(model=model))
    ran = trainer("evaluate", plain.folder)
    assert (0, False) == (ran.code, "planted" in sys.modules), ran.err


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (lambda _: b"{}", 78, "Give --model again"),
        (lambda _: b"[1]", 65, "an architecture as Keras writes it"),
        (lambda data: data.replace(b'"Dense"', b'"Lambda"'), 78, "keras.layers.Lambda"),
        (lambda data: data.replace(b'"rate"', b'"heart"'), 78, "Give --model again"),
        (lambda data: data.replace(b'"units": 3', b'"units": 4'), 65, "(batch, 4)"),
    ],
)
def test_an_architecture_that_was_changed_is_told(
    trainer: Trainer, plain: Opened[Any], change: Any, code: int, told: str
) -> None:
    """With every digest as it should be."""
    edit_file(plain, "model", change)
    ran = trainer("evaluate", plain.folder)
    assert (code, "") == (ran.code, ran.out)
    assert told in ran.err


@pytest.mark.parametrize(("split", "hint"), [("tset", "Did you mean test?"), ("nothing", "")])
def test_a_split_that_there_is_not_is_wrong_usage(
    trainer: Trainer, trained: Trained, split: str, hint: str
) -> None:
    """The shards are as they should be; told with those that there are."""
    ran = trainer("evaluate", trained.run.folder, "--split", split)
    assert 2 == ran.code
    assert "one of test, train, val" in ran.err
    assert hint in ran.err
    assert "hard the features" not in ran.err


def test_shards_made_anew_are_not_those_of_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """What is called val there may hold what was trained on here."""
    copied = trained.copy(tmp_path)
    shards = read_manifest(str(tmp_path / "shards" / "demo"))
    edit_manifest(shards, lambda value: value["recipe"].update(seed=7))
    ran = trainer("evaluate", copied.run.folder)
    assert 65 == ran.code
    assert trained.run.manifest.inputs[0].identity in ran.err


def test_shards_that_are_gone_are_told(trainer: Trainer, trained: Trained, tmp_path: Path) -> None:
    """Exit code 66, and where they were."""
    copied = trained.copy(tmp_path)
    (tmp_path / "shards" / "demo").rename(tmp_path / "shards" / "moved")
    ran = trainer("evaluate", copied.run.folder)
    assert 66 == ran.code
    assert str(tmp_path / "shards" / "demo") in ran.err


def test_weights_that_were_changed_are_not_used(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """By their checksum; and by their shapes, if someone forged that."""
    copied = trained.copy(tmp_path)
    where = Path(copied.run.folder.path, copied.run.files("weights")[0].path)
    data = where.read_bytes()
    where.write_bytes(data[:-1] + b"\1")
    ran = trainer("evaluate", copied.run.folder)
    assert 65 == ran.code
    assert where.name in ran.err
    where.write_bytes(data)
    edit_file(copied.run, "weights", lambda whole: whole[: len(whole) // 2])
    ran = trainer("evaluate", copied.run.folder)
    assert 65 == ran.code


def test_a_run_that_is_not_committed_has_no_scores(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Exit code 66."""
    copied = trained.copy(tmp_path)
    Path(copied.run.location.path).unlink()
    assert 66 == trainer("evaluate", copied.run.folder).code


def test_scores_are_those_of_the_training(trainer: Trainer, trained: Trained) -> None:
    """The same numbers from the same batches; in other batches the same but for rounding."""
    stats = trained.run.manifest.stats.scores
    data = trainer("evaluate", trained.run.folder, "--batch-size", 16, "--json").data
    assert {name: dict(each) for name, each in stats.items()} == {
        name: each["scores"] for name, each in data["splits"].items()
    }
    report = Path(trained.run.folder.path, trained.run.files("evaluation")[0].path).read_text()
    assert json.loads(report)["splits"] == data["splits"]
    one = trainer("evaluate", trained.run.folder, "--split", "val", "--batch-size", 1, "--json")
    found = one.data["splits"]["val"]
    assert data["splits"]["val"]["confusion"] == found["confusion"]
    assert stats["val"]["loss"] == pytest.approx(found["scores"]["loss"], rel=1e-5)


def test_other_shards_are_scored(
    trainer: Trainer, trained: Trained, other: dict[str, Path], tmp_path: Path
) -> None:
    """All of their splits but train, through a cache too; half precision is good enough."""
    words = ("evaluate", trained.run.folder, "--shards")
    ran = trainer(*words, other["more"], "--cache", tmp_path)
    assert ["split", "new", "val"] == [line.split()[0] for line in ran.out.splitlines()]
    data = trainer(*words, other["half"], "--json").data
    assert 12 == data["splits"]["val"]["records"]
    assert (other["half"] / "manifest.json").as_uri() == data["shards"]
