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
from audioloom_manifest import read_manifest
from audioloom_trainer.arrays import dump_arrays, load_arrays
from forging import edit_file, edit_list, edit_manifest
from program import Ran, Trained, Trainer

Damage = Callable[[Trained], None]


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
    assert trained.run.location.uri == data["manifest"]


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
    "records": (manifest(lambda m: m["stats"].update(records=200)), "input: expected 192 records"),
    "guessing": (
        manifest(lambda m: m["stats"]["scores"]["val"].update(majority=0.9)),
        "input: expected for val .*majority",
    ),
}


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
