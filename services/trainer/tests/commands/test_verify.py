"""`verify` finds what is wrong with a run, also where every checksum is right."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_trainer.evaluation.scores import class_table, count_by_class
from audioloom_trainer.runs.npz import dump_arrays, load_arrays
from manifest_editing import edit_list, edit_manifest
from shard_maker import make_shards
from trainer_edits import edit_file
from trainer_program import SMALL, ZOO, Ran, Trained, Trainer

Damage = Callable[[Trained], None]

STOPPED_EARLY = (
    *("--callbacks", "builtin:early_stopping"),
    *("--callback-arg", "patience=1", "--callback-arg", "min_delta=100"),
)


@pytest.fixture
def copied(trained: Trained, tmp_path: Path) -> Trained:
    """A run that may be damaged, with its shards."""
    return trained.copy(tmp_path)


def problems(trainer: Trainer, run: Trained, *words: str) -> list[str]:
    """Those that are listed, in both forms of the answer."""
    ran: Ran = trainer("verify", run.run.folder, "--json", *words)
    data = ran.data
    found: list[str] = data["problems"]
    assert (65 if found else 0, not found) == (ran.code, data["ok"])
    text = trainer("verify", run.run.folder, *words).out
    assert all(each in text for each in found[:20])
    return found


def path_of(run: Trained, role: str) -> Path:
    """Where the first file of a role lies."""
    return Path(run.run.folder.path, run.run.files(role)[0].path)


def test_a_run_is_what_it_claims(trainer: Trainer, trained: Trained) -> None:
    """Counts of what was looked at, and the commands that come next, which work."""
    ran = trainer("verify", trained.run.folder)
    assert 0 == ran.code, ran.err
    assert "all as the manifest says\n" in ran.out
    assert shlex.join(["audioloom-trainer", "evaluate", str(trained.run.folder)]) in ran.err
    data = trainer("verify", trained.run.location, "--json").data
    entries = trained.run.files()
    assert (True, len(entries), sum(each.bytes for each in entries), 1, True, []) == tuple(
        data[key] for key in ("ok", "files", "bytes", "checkpoints", "inputs_read", "problems")
    )
    assert str(trained.run.location) == data["location"]


@pytest.mark.parametrize(
    "role", ["weights", "model", "history", "evaluation", "report", "events", "keras"]
)
def test_every_file_is_read_again(trainer: Trainer, copied: Trained, role: str) -> None:
    """A bit that is another, fewer bytes, and none: each time that file is named."""
    path = path_of(copied, role)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (one,) = problems(trainer, copied)
    path.write_bytes(data[:-1])
    (other,) = problems(trainer, copied)
    path.unlink()
    (gone,) = problems(trainer, copied)
    assert ["expected SHA-256", f"{len(data) - 1} bytes", "found nothing"] == [
        text
        for each, text in ((one, "expected SHA-256"), (other, f"{len(data) - 1} bytes"),
                           (gone, "found nothing"))
        if path.name in each and text in each
    ]  # fmt: skip


def test_a_forged_manifest_is_refused(trainer: Trainer, copied: Trained) -> None:
    """Its identity is not that of its recipe."""
    where = Path(copied.run.location.path)
    value = json.loads(where.read_text())
    value["recipe"]["epochs"] = 50
    where.write_text(json.dumps(value))
    ran = trainer("verify", copied.run.folder)
    assert (65, "") == (ran.code, ran.out)
    assert copied.run.manifest.identity in ran.err
    assert str(where) in ran.err


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize(
    ("model", "shards", "words"),
    [
        ("small", {"labels": ("calm", "glad", "sad")}, STOPPED_EARLY),
        ("small", {"numbers": True}, ()),
        pytest.param(*("small", {"labels": ("calm", "glad")}, ()), marks=pytest.mark.slow),
        pytest.param(*("binary", {"labels": ("calm", "glad")}, ()), marks=pytest.mark.slow),
        ("accuracy_of_logits", {"labels": ("calm", "glad")}, ()),
        pytest.param(
            *("other_accuracy", {"labels": ("calm", "glad", "sad")}, ()), marks=pytest.mark.slow
        ),
        pytest.param(
            *("own_class", {"labels": ("calm", "glad", "sad")}, ()), marks=pytest.mark.slow
        ),
    ],
)
def test_true_runs_of_all_kinds_are_believed(
    trainer: Trainer, tmp_path: Path, model: str, shards: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Fewer epochs, numbers, one output of two classes, an accuracy that is another metric."""
    made = make_shards(tmp_path, records={"train": 40, "val": 24, "test": 9}, lanes=2, **shards)
    small = ("--model", f"{ZOO}:{model}", "--epochs", 4, "--batch-size", 16)
    ran = trainer("run", made.folder, *small, *words)
    assert 0 == ran.code, ran.err
    checked = trainer("verify", ran.out.strip(), "--json")
    assert [] == checked.data["problems"]


def test_a_run_that_was_resumed_is_believed(trainer: Trainer, copied: Trained) -> None:
    """Its history has the epochs before."""
    Path(copied.run.location.path).unlink()
    ran = trainer("run", copied.root / "shards" / "demo", *SMALL)
    assert 0 == ran.code, ran.err
    assert "resumed" in ran.err
    assert [] == problems(trainer, copied)


# --- forgeries: identity, list and checksums are right, and what the files hold is not ------------


def arrays(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Weights that are others."""

    def edit(data: bytes) -> bytes:
        found = load_arrays(data)
        change(found)
        return dump_arrays(found)

    return lambda run: edit_file(run.run, "weights", edit) and None


def infinite(found: dict[str, Any]) -> None:
    """The last of the values that are numbers at all."""
    name = [key for key, each in found.items() if each.dtype.kind == "f"][-1]
    found[name] = np.full_like(found[name], np.nan)


def text(role: str, old: str, new: str) -> Damage:
    """A file of JSON that says something else."""

    def edit(data: bytes) -> bytes:
        assert old.encode() in data
        return data.replace(old.encode(), new.encode(), 1)

    return lambda run: edit_file(run.run, role, edit) and None


def value(role: str, change: Callable[[Any], object]) -> Damage:
    """A file of JSON with another value."""

    def edit(data: bytes) -> bytes:
        found = json.loads(data)
        change(found)
        return json.dumps(found).encode()

    return lambda run: edit_file(run.run, role, edit) and None


def manifest(change: Callable[[dict[str, Any]], object]) -> Damage:
    """A manifest that says something else."""
    return lambda run: edit_manifest(run.run, change)


def both(one: Damage, other: Damage) -> Damage:
    """One damage and another."""

    def damage(run: Trained) -> None:
        one(run)
        other(run)

    return damage


def table(change: Callable[[Any], Any]) -> Damage:
    """Another table of a split, with all that follows from it but the accuracy."""

    def edit(evaluation: Any) -> None:
        split = evaluation["splits"]["test"]
        found = change(np.array(split["confusion"]))
        split["confusion"], split["records"] = found.tolist(), int(found.sum())
        split["classes"] = class_table(count_by_class(found), evaluation["labels"])

    return value("evaluation", edit)


def without_table(change: Callable[[dict[str, Any]], object]) -> Damage:
    """No confusion matrix, as of thousands of classes, and other shares of the classes."""

    def edit(evaluation: Any) -> None:
        split = evaluation["splits"]["test"]
        split["confusion"] = None
        for each in split["classes"]:
            change(each)

    return value("evaluation", edit)


def other_labels(evaluation: Any) -> None:
    """Names that the shards do not have."""
    evaluation["labels"] = ["a", "b", "c"]
    for split in evaluation["splits"].values():
        for label, row in zip("abc", split["classes"], strict=True):
            row["label"] = label


def without(role: str) -> Damage:
    """A list of files that lacks some."""

    def drop(entries: list[dict[str, Any]]) -> None:
        entries[:] = [each for each in entries if each["role"] != role]

    return lambda run: edit_list(run.run, drop)


FORGERIES: dict[str, tuple[Damage, str]] = {
    "no weights": (without("weights"), "weights: .*expected one weights file, found 0"),
    "no history": (without("history"), "history: .*expected one history file"),
    "torn weights": (
        lambda run: edit_file(run.run, "weights", lambda data: data[:99]) and None,
        "weights: ",
    ),
    "fewer weights": (arrays(lambda a: a.pop(min(a))), "weights: expected 287 parameters, found"),
    "NaN": (arrays(infinite), "weights: expected finite values of weight-"),
    "architecture": (text("model", "{", "["), "model: "),
    "history": (value("history", lambda h: h["epochs"].pop(0)), "history: expected the epochs 1"),
    "no epochs": (value("history", lambda h: h.clear()), "history: epochs: Field required"),
    "words": (value("history", lambda h: h["epochs"][0].update(loss="low")), "history: epochs"),
    "steps": (manifest(lambda m: m["stats"].update(steps=11)), "history: expected 11 steps"),
    "score": (
        value("evaluation", lambda e: e["splits"]["val"]["scores"].update(loss=0.1)),
        "evaluation: expected the scores of the manifest",
    ),
    "manifest's score": (
        manifest(lambda m: m["stats"]["scores"]["val"].update(accuracy=0.99)),
        "evaluation: expected the scores of the manifest",
    ),
    "confusion": (
        value("evaluation", lambda e: e["splits"]["test"]["confusion"][0].__setitem__(0, 99)),
        "evaluation: expected 24 records of 3 classes in the table of test",
    ),
    "ragged": (
        value("evaluation", lambda e: e["splits"]["test"]["confusion"].__setitem__(0, [1])),
        "evaluation: ",
    ),
    "classes": (
        value("evaluation", lambda e: e["splits"]["test"]["classes"][0].update(recall=1.0)),
        "evaluation: expected the shares of each class",
    ),
    "fewer epochs": (
        value("history", lambda h: h["epochs"].pop()),
        r"history: expected the epochs 1 to 2, found \[1",
    ),
    "all wrong": (
        table(lambda t: np.roll(np.diag(t.sum(axis=1)), 1, axis=1)),
        "evaluation: expected the accuracy of the table of test, 0.0000, found",
    ),
    "less than nothing": (
        table(lambda t: t + np.outer([1, 0, 0], [0, 99, -99])),
        "evaluation: expected 24 records of 3 classes in the table of test",
    ),
    "records": (
        manifest(lambda m: m["stats"].update(records=200)),
        "input: records of 2 epochs: expected 192, found 200",
    ),
    "more steps": (
        manifest(lambda m: m["stats"].update(steps=24)),
        "input: steps of 2 epochs: expected 12, found 24",
    ),
    "many epochs": (
        manifest(lambda m: m["stats"].update(steps=1200, records=19200)),
        "input: records of 2 epochs: expected 192, found 19200",
    ),
    "replicas": (
        manifest(lambda m: m["stats"].update(replicas=64)),
        "input: replicas for 4 lanes: expected 4, found 64",
    ),
    "labels": (value("evaluation", other_labels), "input: labels: expected .*'calm'.* found .*'c'"),
    "a split less": (
        both(
            value("evaluation", lambda e: e["splits"].pop("test")),
            manifest(lambda m: m["stats"]["scores"].pop("test")),
        ),
        "input: splits: expected .*'test'",
    ),
    "records of a split": (
        table(lambda t: 2 * t),
        "input: records of test: expected 24, found 48",
    ),
    "no table": (
        value("evaluation", lambda e: e["splits"]["test"].update(confusion=None, classes=None)),
        "input: records of each class in the table of test: expected .* found None",
    ),
    "no table, other accuracy": (
        without_table(lambda c: c.update(recall=0.0)),
        "evaluation: expected the accuracy of the table of test, 0.0000, found",
    ),
    "no table, other records": (
        without_table(lambda c: c.update(records=c["records"] + 1)),
        "evaluation: expected 24 records of 3 classes in the table of test",
    ),
    "no table, other names": (
        without_table(lambda c: c.update(label="other")),
        "evaluation: expected 24 records of 3 classes in the table of test",
    ),
    "no table, strange shares": (
        without_table(lambda c: c.update(recall=1e300)),
        "evaluation: splits.test.classes.0.recall: ",
    ),
    "other classes": (
        table(lambda t: np.outer([1, 0, 0], [t.trace(), t.sum() - t.trace(), 0])),
        "input: records of each class in the table of test: expected .* found .*24, 0, 0",
    ),
    "guessing": (
        manifest(lambda m: m["stats"]["scores"]["val"].update(majority=0.9)),
        "input: guessing on val: expected .*majority",
    ),
}


def test_a_run_without_a_table_is_believed(trainer: Trainer, copied: Trained) -> None:
    """As one of thousands of classes is."""
    without_table(dict)(copied)
    assert [] == problems(trainer, copied)


@pytest.mark.parametrize("what", FORGERIES)
def test_what_the_files_hold_is_compared(trainer: Trainer, copied: Trained, what: str) -> None:
    """Somebody with all the time made every checksum right."""
    damage, expected = FORGERIES[what]
    damage(copied)
    found = problems(trainer, copied)
    assert_any(expected, found)


def assert_any(pattern: str, found: list[str]) -> None:
    """One of them begins so."""
    assert [each for each in found if re.match(pattern, each)], found


def test_checkpoints_that_were_kept_are_read(trainer: Trainer, copied: Trained) -> None:
    """State and record; a folder without a record is no checkpoint."""
    (folder,) = Path(copied.run.folder.path, "checkpoints").iterdir()
    (folder.parent / "step-00000003").mkdir()
    assert [] == problems(trainer, copied)
    (state,) = folder.glob("state-*.npz")
    data = state.read_bytes()
    state.write_bytes(data[:-1] + b"x")
    assert_any(f".*{state.name}: expected SHA-256", problems(trainer, copied))
    state.write_bytes(data)
    record = folder / "commit.json"
    whole = json.loads(record.read_text())
    for change, expected in (
        ({"recipe": "0" * 64}, "a checkpoint of this recipe"),
        ({"step": 13}, "at most 12 steps, found 13"),
        ({"step": "many"}, "the record of a checkpoint"),
    ):
        record.write_text(json.dumps(whole | change))
        assert_any(f".*expected {expected}", problems(trainer, copied))


def test_shards_that_are_gone_or_others(trainer: Trainer, copied: Trained, tmp_path: Path) -> None:
    """They are told, unless one does not ask for them."""
    shards = tmp_path / "shards" / "demo"
    shards.rename(tmp_path / "moved")
    where = f"{shards}/manifest.json"
    assert_any(f"input: {where}: expected a shards manifest", problems(trainer, copied))
    assert [] == problems(trainer, copied, "--no-inputs")
    assert "(inputs not read)" in trainer("verify", copied.run.folder, "--no-inputs").out
    (tmp_path / "moved").rename(shards)
    edit_manifest(read_manifest(str(shards)), lambda value: value["recipe"].update(seed=7))
    (one,) = problems(trainer, copied)
    assert copied.run.manifest.inputs[0].identity in one


@pytest.mark.parametrize("place", ["nothing", "shards/demo"])
def test_what_is_no_run_is_refused(
    trainer: Trainer, trained: Trained, place: str, tmp_path: Path
) -> None:
    """By what is missing, or by its kind."""
    code = {"nothing": 66, "shards/demo": 65}[place]
    ran = trainer("verify", trained.root / place)
    assert (code, "") == (ran.code, ran.out)
    assert "a training-run manifest" in ran.err
