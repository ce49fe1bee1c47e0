"""Makers of shards, one trained run that all tests share, and the stage called as a program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from audioloom_manifest import Opened, TrainingRunManifest, read_manifest

sys.path.insert(0, str(Path(__file__).parent))  # for shard_maker: tests are no package

# Words that make a run of seconds. Paths are added by who uses them.
SMALL = ("--epochs", "2", "--batch-size", "16", "--model-arg", "filters=4")


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The object of --json."""
        return json.loads(self.out)  # type: ignore[no-any-return]


Trainer = Callable[..., Ran]


@dataclass(frozen=True)
class Trained:
    """A root with shards and a committed run, to be looked at but not changed."""

    root: Path
    run: Opened[TrainingRunManifest]
    ran: Ran
    """What the command that made it said, as a program of its own."""

    def copy(self, root: Path) -> Trained:
        """The same under a root that may be changed."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        folder = root / Path(self.run.folder.path).relative_to(self.root)
        return Trained(root, read_manifest(str(folder), expect="training-run"), self.ran)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Training blocks SIGTERM for good, which a process that goes on must not."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture
def trainer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Trainer]:
    """Run a command in this process: arguments in, exit code and both streams out."""
    from audioloom_trainer.cli import main

    monkeypatch.setenv("AUDIOLOOM_LOG_FORMAT", "console")
    for name in list(os.environ):
        if name == "TF_CONFIG" or name.startswith(("AUDIOLOOM_RUN_", "AUDIOLOOM_TRAINER_")):
            monkeypatch.delenv(name)

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    structlog.reset_defaults()


def call(*words: object, **variables: str) -> Ran:
    """Run a command as a program of its own."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "TF_CONFIG" and not name.startswith("AUDIOLOOM_")
    }
    program = Path(sys.executable).with_name("audioloom-trainer")
    done = subprocess.run(
        [program, *map(str, words)],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small run, trained once by the program itself."""
    from shard_maker import make_shards

    root = tmp_path_factory.mktemp("trained")
    shards = make_shards(root, records={"train": 96, "val": 24, "test": 24}, lanes=4)
    ran = call("run", shards.folder, *SMALL)
    assert 0 == ran.code, ran.err
    return Trained(root, read_manifest(ran.out.strip(), expect="training-run"), ran)
