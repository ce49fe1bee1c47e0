"""`run`, from bad input to a committed run."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.envelope import DERIVED, FileEntry
from audioloom_manifest.reader import Opened, read_manifest
from manifest_editing import edit_list, edit_manifest
from shard_maker import make_shards
from trainer_edits import edit_file
from trainer_program import SMALL, ZOO, Trained, Trainer

QUICK = ("--epochs", "1", "--batch-size", "16", "--model", f"{ZOO}:small")


@pytest.fixture
def shards(trained: Trained, tmp_path: Path) -> Opened[Any]:
    """Shards that may be damaged."""
    return read_manifest(str(trained.copy(tmp_path / "root").root / "shards" / "demo"), "shards")


def result_of(opened: Opened[Any]) -> list[FileEntry]:
    """The files that a run's identity is made of: a report tells times."""
    derived = DERIVED["training-run"]
    return [entry for entry in opened.files() if entry.role not in derived]


def first(opened: Opened[Any], role: str) -> Path:
    return Path(opened.folder.path, opened.files(role)[0].path)


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


OTHER = "sha256:" + "1" * 64


def next_major(opened: Opened[Any]) -> None:
    edit_manifest(opened, lambda value: value.update(version="2.0"))


def truncate_manifest(opened: Opened[Any]) -> None:
    where = Path(opened.location.path)
    where.write_bytes(where.read_bytes()[:-100])


def leave_the_folder(opened: Opened[Any]) -> None:
    edit_list(opened, lambda entries: entries[0].update(path="../../../etc/passwd"))


def forge(change: Callable[[dict[str, Any]], object]) -> Callable[[Opened[Any]], None]:
    """Change the manifest alone, with an identity that is not its own."""

    def damage(opened: Opened[Any]) -> None:
        where = Path(opened.location.path)
        value = json.loads(where.read_bytes())
        change(value)
        where.write_text(json.dumps(value))

    return damage


def change_the_list(opened: Opened[Any]) -> None:
    where = Path(opened.folder.path, opened.manifest.files.name)
    where.write_bytes(where.read_bytes().replace(b'"shard":0', b'"shard":1', 1))


def lose_the_list(opened: Opened[Any]) -> None:
    Path(opened.folder.path, opened.manifest.files.name).unlink()


def change_a_shard(opened: Opened[Any]) -> None:
    where = first(opened, "shard")
    where.write_bytes(flip(where.read_bytes()))


def cut_a_shard(opened: Opened[Any]) -> None:
    where = first(opened, "shard")
    where.write_bytes(where.read_bytes()[:-1])


def lose_a_shard(opened: Opened[Any]) -> None:
    first(opened, "shard").unlink()


def shift_an_index(opened: Opened[Any]) -> None:
    def change(data: bytes) -> bytes:
        rows = np.frombuffer(data[128:], "<i8").reshape(-1, 4).copy()
        rows[0, 2] += 2**40
        return data[:128] + rows.tobytes()

    edit_file(opened, "index", change)


def unknown_label(opened: Opened[Any]) -> None:
    def change(data: bytes) -> bytes:
        rows = np.frombuffer(data[128:], "<i8").reshape(-1, 4).copy()
        rows[0, 3] = 7
        return data[:128] + rows.tobytes()

    edit_file(opened, "index", change)


@pytest.mark.parametrize(
    ("damage", "code", "text"),
    [
        (next_major, 65, "version 2.0"),
        (truncate_manifest, 65, "manifest.json"),
        (leave_the_folder, 65, "files-"),
        (forge(lambda value: value["recipe"].update(seed=7)), 65, "the identity of its recipe"),
        (forge(lambda value: value["inputs"][0].update(identity=OTHER)), 65, "the identity of its"),
        (forge(lambda value: value.update(identity=OTHER)), 65, f"found     {OTHER}"),
        (change_the_list, 65, "files-"),
        (lose_the_list, 66, "files-"),
        (change_a_shard, 65, "test-00000-"),
        (cut_a_shard, 65, "test-00000-"),
        (lose_a_shard, 66, "test-00000-"),
        (shift_an_index, 65, "test-00000-"),
        (unknown_label, 65, "class numbers 0 to 2"),
    ],
)
def test_damaged_shards_are_refused_by_name(
    trainer: Trainer,
    shards: Opened[Any],
    damage: Callable[[Opened[Any]], None],
    code: int,
    text: str,
) -> None:
    """Before, or at, the step that would need them; and nothing is committed."""
    damage(shards)
    ran = trainer("run", shards.folder, *QUICK, "--name", "damaged")
    assert (code, "") == (ran.code, ran.out)
    assert text in ran.err
    assert "bug" not in ran.err
    assert not Path(shards.root.path, "runs", "damaged", "manifest.json").exists()


def test_missing_shards_are_told(trainer: Trainer, tmp_path: Path) -> None:
    """Exit code 66, with the path."""
    ran = trainer("run", tmp_path / "nothing")
    assert 66 == ran.code
    assert str(tmp_path / "nothing" / "manifest.json") in ran.err


def test_a_manifest_of_another_kind_is_told(trainer: Trainer, trained: Trained) -> None:
    """With both kinds, and where the right one would lie."""
    ran = trainer("run", trained.run.folder)
    assert 65 == ran.code
    assert "a training-run manifest" in ran.err
    assert "under shards/" in ran.err


@pytest.mark.parametrize(
    ("cluster", "text"),
    [
        ("{", "TF_CONFIG"),
        (
            '{"cluster": {"worker": ["a:1", "b:1", "c:1"]},'
            ' "task": {"type": "worker", "index": 0}}',
            "divides its lanes: 1, 2, 4",
        ),
    ],
)
def test_a_cluster_that_cannot_train_is_refused(
    trainer: Trainer,
    trained: Trained,
    monkeypatch: pytest.MonkeyPatch,
    cluster: str,
    text: str,
) -> None:
    """At once, and by every worker alike."""
    monkeypatch.setenv("TF_CONFIG", cluster)
    ran = trainer("run", trained.root / "shards" / "demo", "--name", "other")
    assert 78 == ran.code
    assert text in ran.err


def test_a_launcher_and_a_name_must_agree(
    trainer: Trainer, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there already, under its name."""
    monkeypatch.setenv("AUDIOLOOM_RUN_FOLDER", (trained.root / "runs" / "launched").as_uri())
    ran = trainer("run", trained.root / "shards" / "demo", "--name", "mine")
    assert 78 == ran.code
    assert "AUDIOLOOM_RUN_FOLDER" in ran.err


def test_a_name_that_is_taken_is_refused(trainer: Trainer, trained: Trained) -> None:
    """Exit code 73, and what differs."""
    name = trained.run.manifest.name
    ran = trainer("run", trained.root / "shards" / "demo", *SMALL, "--seed", 1, "--name", name)
    assert 73 == ran.code
    assert "seed = 0 there, 1 asked for" in ran.err


def test_checkpoints_of_another_recipe_are_refused(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """An unfinished run has no manifest yet, and is not gone on with by another command."""
    copied = trained.copy(tmp_path)
    Path(copied.run.location.path).unlink()
    shards, name = tmp_path / "shards" / "demo", copied.run.manifest.name
    ran = trainer("run", shards, *SMALL, "--seed", 1, "--name", name)
    assert 73 == ran.code
    assert "step-00000012" in ran.err


def test_without_a_training_split_there_is_nothing_to_train(
    trainer: Trainer, tmp_path: Path
) -> None:
    """The splits that there are, are named."""
    shards = make_shards(tmp_path, records={"val": 8, "all": 8}, lanes=2)
    ran = trainer("run", shards.folder, *QUICK)
    assert 65 == ran.code
    assert "expected  a split 'train'" in ran.err
    assert "the splits all, val" in ran.err


def test_a_loss_that_is_not_finite_ends_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """With the step, and what to try; a checkpoint of nonsense is not taken."""
    words = (*QUICK[:-1], f"{ZOO}:infinite_loss", "--root", tmp_path, "--name", "bad")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 65 == ran.code
    assert "of epoch 1" in ran.err
    assert "a finite loss" in ran.err
    assert not (tmp_path / "runs" / "bad" / "checkpoints").exists()
    lines = (tmp_path / "runs" / "bad" / "progress" / "0.jsonl").read_text().splitlines()
    assert "NotFinite" == json.loads(lines[-1])["error"]


def test_scores_that_are_taken_for_probabilities_end_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """At the first step, whose records are the first that the model sees."""
    words = (*QUICK[:-1], f"{ZOO}:not_said_to_be_logits", "--root", tmp_path, "--name", "bad")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 78 == ran.code, ran.err
    assert "step 1 of epoch 1" in ran.err
    assert "of 16 records" in ran.err
    assert "from_logits=True" in ran.err
    assert not (tmp_path / "runs" / "bad" / "checkpoints").exists()


def test_a_loss_that_explodes_ends_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """With the step; whoever means it says so, and it is the same run."""
    words = (*QUICK[:-1], f"{ZOO}:explodes", "--root", tmp_path, "--name", "bad")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 65 == ran.code, ran.err
    assert "step 2 of epoch 1" in ran.err
    assert "--allow-exploding-loss" in ran.err
    assert not (tmp_path / "runs" / "bad" / "checkpoints").exists()
    ran = trainer("run", trained.root / "shards" / "demo", *words, "--allow-exploding-loss")
    assert 0 == ran.code, ran.err


def test_a_loss_of_exactly_0_ends_the_run(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """With the step; whoever means it says so, and it is the same run."""
    words = (*QUICK[:-1], f"{ZOO}:zero_loss", "--root", tmp_path, "--name", "zero")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 65 == ran.code
    assert "where     step 1" in ran.err
    assert "--allow-zero-loss" in ran.err
    ran = trainer("run", trained.root / "shards" / "demo", *words, "--allow-zero-loss")
    assert 0 == ran.code, ran.err


def test_a_loss_that_falls_to_0_is_no_fault(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """A model that has learned all goes on to the end."""
    words = (*QUICK[:-1], f"{ZOO}:learns_all", "--root", tmp_path, "--name", "learned")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err


def test_a_metric_that_is_not_finite_is_left_out(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """The run is committed with those that are."""
    words = (*QUICK[:-1], f"{ZOO}:never_finite_metric", "--root", tmp_path, "--json")
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err
    assert {"accuracy", "chance", "loss", "majority"} == ran.data["scores"]["val"].keys()
    assert "not finite" in ran.err


def test_metrics_may_have_the_names_of_fields(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """The history has them; the lines of the log and of the progress stay what they are."""
    words = (*QUICK[:-1], f"{ZOO}:metrics_called_as_fields", "--root", tmp_path)
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err
    (history,) = tmp_path.rglob("history*.json")
    (epoch,) = json.loads(history.read_text())["epochs"]
    assert {"event", "step", "input_wait", "readable", "self"} <= epoch.keys()
    (file,) = tmp_path.rglob("progress/0.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    (noted,) = [line for line in lines if line["event"] == "epoch"]
    assert (6, epoch["readable"]) == (noted["step"], noted["readable"])


def test_a_committed_run_answers_at_once(trainer: Trainer, trained: Trained) -> None:
    """And says that it was."""
    before = Path(trained.run.location.path).stat()
    words = ("run", trained.root / "shards" / "demo", *SMALL)
    assert f"{trained.run.location}\n" == trainer(*words).out
    data = trainer(*words, "--json").data
    assert ("audioloom.trainer.run", 1, True) == (
        data["kind"],
        data["version"],
        data["already_committed"],
    )
    assert before == Path(trained.run.location.path).stat()


def test_a_run_that_is_deleted_comes_back_the_same(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Same name, same identity, same files, under another root and in another process."""
    shutil.copytree(trained.root / "shards", tmp_path / "shards")
    ran = trainer("run", tmp_path / "shards" / "demo", *SMALL)
    assert 0 == ran.code, ran.err
    again = read_manifest(ran.out.strip(), "training-run")
    assert trained.run.manifest.name == again.manifest.name
    assert result_of(trained.run) == result_of(again)
    assert trained.run.manifest.identity == again.manifest.identity
    for entry in again.files():
        data = Path(again.folder.path, entry.path).read_bytes()
        assert (entry.bytes, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_what_a_manifest_says_of_a_run(trained: Trained) -> None:
    """Steps, records, scores beside guessing, and how it was made."""
    manifest = trained.run.manifest
    stats = manifest.stats
    assert (2 * 6, 2 * 96, 1) == (stats.steps, stats.records, stats.replicas)
    assert {"test", "val"} == stats.scores.keys()
    for found in stats.scores.values():
        assert {"loss", "accuracy", "chance", "majority"} == found.keys()
        assert 1 / 3 == found["chance"]
    assert {"weights", "model", "history", "evaluation", *DERIVED["training-run"]} == {
        entry.role for entry in trained.run.files()
    }
    assert {
        "tensorflow",
        "keras",
        "numpy",
        "audioloom-trainer",
        "python",
        "machine",
    } == manifest.execution.versions.keys()
    assert "shards/demo" == manifest.inputs[0].location


def test_a_run_folder_holds_what_the_contract_says(trained: Trained) -> None:
    """Progress and checkpoints beside the manifest and what it names; nothing else."""
    folder = Path(trained.run.folder.path)
    named = {entry.path for entry in trained.run.files()}
    other = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - named
    state = [path for path in other if path.startswith("checkpoints/step-00000012/state-")]
    assert {
        "manifest.json",
        trained.run.manifest.files.name,
        "progress/0.jsonl",
        "checkpoints/step-00000012/commit.json",
        *state,
    } == other
    assert 1 == len(state)
    lines = [json.loads(line) for line in (folder / "progress/0.jsonl").read_text().splitlines()]
    assert "start" == lines[0]["event"]
    assert "done" == lines[-1]["event"]
    step = next(line for line in lines if line["event"] == "step")
    assert {"step", "epoch", "loss", "steps_per_second", "rank", "attempt"} <= step.keys()


def test_what_is_committed_can_be_read_by_whoever_reads_the_manifest(trained: Trained) -> None:
    """Every file that it names, and the folders on the way to it."""
    manifest = Path(trained.run.location.path)
    who = manifest.stat().st_mode & 0o444
    closed = set()
    for entry in trained.run.files():
        file = manifest.parent / entry.path
        way = [file, *file.parents]
        for each in way[: way.index(trained.root)]:
            needed = who if each == file else who | who >> 2  # folders are entered, too
            if each.stat().st_mode & needed != needed:
                closed.add(each)
    assert set() == closed


def test_half_precision_is_trained_on(trainer: Trainer, tmp_path: Path) -> None:
    """float16 in the shards, float32 in the model."""
    shards = make_shards(tmp_path, records={"train": 40, "val": 8}, lanes=2, dtype="float16")
    ran = trainer("run", shards.folder, *QUICK, "--json")
    assert 0 == ran.code, ran.err
    assert np.isfinite(ran.data["scores"]["val"]["loss"])


def test_numbers_are_learned(trainer: Trainer, tmp_path: Path) -> None:
    """With a loss beside what always answering their mean reaches, and without accuracy."""
    shards = make_shards(tmp_path, records={"train": 40, "val": 8}, lanes=2, numbers=True)
    ran = trainer("run", shards.folder, *QUICK, "--json")
    assert 0 == ran.code, ran.err
    found = ran.data["scores"]["val"]
    assert {"loss", "mse_of_mean"} == found.keys()
    again = trainer("evaluate", ran.data["location"], *QUICK[-2:], "--json")
    assert 0 == again.code, again.err
    assert found == pytest.approx(again.data["splits"]["val"]["scores"], abs=1e-6)
    run = read_manifest(ran.data["location"], "training-run")
    assert "mse_of_mean" in first(run, "report").read_text()
    assert "mse_of_mean" not in first(run, "evaluation").read_text()  # shards of 1.0 give the same


def test_two_classes_with_one_score_are_counted_right(trainer: Trainer, tmp_path: Path) -> None:
    """The confusion matrix agrees with the records, from a score below or above nothing."""
    shards = make_shards(tmp_path, records={"train": 40, "val": 9}, lanes=2, labels=("no", "yes"))
    ran = trainer("run", shards.folder, *QUICK[:-1], f"{ZOO}:binary", "--json")
    assert 0 == ran.code, ran.err
    run = read_manifest(ran.data["location"], "training-run")
    report = json.loads(first(run, "evaluation").read_text())["splits"]["val"]
    assert 9 == np.sum(report["confusion"])
    assert {"no", "yes"} == {row["label"] for row in report["classes"]}


def test_a_class_that_keras_cannot_write_is_trained(
    trainer: Trainer, trained: Trained, tmp_path: Path
) -> None:
    """Only its configuration is missing from the run."""
    words = (*QUICK[:-1], f"{ZOO}:own_class", "--root", tmp_path)
    ran = trainer("run", trained.root / "shards" / "demo", *words)
    assert 0 == ran.code, ran.err
    run = read_manifest(ran.out.strip(), "training-run")
    assert {} == json.loads(first(run, "model").read_text())
