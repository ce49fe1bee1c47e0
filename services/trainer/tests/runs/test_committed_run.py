"""Files of a run that appear late are waited for; those that stay away are all named."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from audioloom_manifest import late_files
from audioloom_manifest.errors import MissingFile
from audioloom_manifest.reader import Opened
from audioloom_trainer.runs.committed_run import open_run, read_role
from manifest_editing import edit_manifest
from trainer_program import Trained, Trainer

pytestmark = pytest.mark.usefixtures("tensorflow")


@pytest.fixture
def copied(trained: Trained, tmp_path: Path) -> Trained:
    """A run whose files may be late."""
    return trained.copy(tmp_path)


def paths(run: Opened[Any], *roles: str) -> list[Path]:
    """Where the files of some roles lie."""
    return [Path(run.folder.path, entry.path) for entry in run.files(*roles)]


def late(monkeypatch: pytest.MonkeyPatch, found: list[Path]) -> list[float]:
    """Take files away, and bring them back when they are waited for; answer with the waits."""
    hidden = [path.rename(path.with_name(f"hidden-{path.name}")) for path in found]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        for one, other in zip(hidden, found, strict=True):
            one.rename(other)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    monkeypatch.setattr(late_files, "time", clock)
    monkeypatch.setenv(late_files.VARIABLE, "30")
    return waits


@pytest.mark.parametrize("role", ["weights", "model", "history", "evaluation"])
def test_a_file_of_a_run_that_appears_late_is_waited_for(
    copied: Trained, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """A network file system may show the manifest before it."""
    (path,) = paths(copied.run, role)
    expected = path.read_bytes()
    waits = late(monkeypatch, [path])
    assert expected == read_role(copied.run, role)
    assert 1 == len(waits)


@pytest.mark.parametrize(
    ("words", "roles"),
    [
        (("inspect",), ("history", "evaluation")),
        (("evaluate",), ("weights",)),
        (("export", "--to", "out"), ("keras",)),
        (("export", "--to", "out", "--format", "saved-model"), ("saved-model",)),
        (("verify",), ("weights", "history")),
    ],
)
def test_commands_wait_for_files_that_appear_late(
    trainer: Trainer,
    copied: Trained,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    roles: tuple[str, ...],
) -> None:
    """Whatever they read of a run."""
    monkeypatch.chdir(copied.root)
    waits = late(monkeypatch, paths(copied.run, *roles))
    ran = trainer(words[0], copied.run.folder, *words[1:])
    assert 0 == ran.code, ran.err
    assert 1 == len(waits)


@pytest.mark.parametrize(
    ("words", "roles"),
    [
        (("inspect",), ("history", "evaluation")),
        (("export", "--to", "out", "--format", "saved-model"), ("saved-model",)),
    ],
)
def test_all_files_of_a_run_that_are_gone_are_named(
    trainer: Trainer,
    copied: Trained,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    roles: tuple[str, ...],
) -> None:
    """Exit code 66; whoever copies them again wants to know which, and nothing is half made."""
    monkeypatch.chdir(copied.root)
    gone = paths(copied.run, *roles)
    assert len(gone) > 1
    for path in gone:
        path.unlink()
    ran = trainer(words[0], copied.run.folder, *words[1:])
    assert 66 == ran.code
    assert all(path.name in ran.err for path in gone)
    assert not list(copied.root.glob("out/*"))


def test_weights_and_architecture_that_are_gone_are_named_together(copied: Trained) -> None:
    """A model that is not of this package is built again of both."""
    own = {"function": "my.module:build", "sha256": "0" * 64, "revision": None}
    edit_manifest(copied.run, lambda m: m["recipe"]["model"].update(own))
    gone = paths(copied.run, "weights", "model")
    for path in gone:
        path.unlink()
    with pytest.raises(MissingFile) as caught:
        open_run(str(copied.run.folder), None)
    assert all(path.name in str(caught.value) for path in gone)


def test_files_that_are_gone_are_waited_for_once(
    trainer: Trainer, copied: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `verify`, however many they are, which names each."""
    clock = [0.0]
    monkeypatch.setenv("AUDIOLOOM_LATE_FILES_SECONDS", "5")
    monkeypatch.setattr(late_files.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(late_files.time, "sleep", lambda s: clock.__setitem__(0, clock[0] + s))
    gone = paths(copied.run, "saved-model", "history")
    for path in gone:
        path.unlink()
    ran = trainer("verify", copied.run.folder, "--json")
    assert len(gone) == len(ran.data["problems"])
    assert 5.0 == clock[0]
