"""Makers of shards, one trained run that all tests share, and the stage called as a program."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import structlog
from audioloom_manifest.reader import read_manifest
from audioloom_trainer.runs import progress
from audioloom_trainer.runtime.retry import LIMIT

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # as the commands do, before it is imported

from trainer_program import SMALL, Ran, RetryFor, Trained, Trainer, call
from trainer_workers import ForkServer


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Training blocks SIGTERM for good, which a process that goes on must not."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture(autouse=True)
def _progress_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a busy disk takes: a test reads it right afterwards."""
    monkeypatch.setattr(progress, "MOST_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def retry_for(monkeypatch: pytest.MonkeyPatch) -> RetryFor:
    """Sets how long is retried what fails; a test fails at once unless it says otherwise."""

    def set_limit(seconds: float, *, first_pause: float | None = None) -> None:
        monkeypatch.setattr(LIMIT, "seconds", seconds)
        if first_pause is not None:
            monkeypatch.setattr(LIMIT, "first_pause_seconds", first_pause)
            monkeypatch.setattr(LIMIT, "longest_pause_seconds", first_pause)

    set_limit(0.0)
    return set_limit


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


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small run, trained once by the program itself."""
    from shard_maker import make_shards

    root = tmp_path_factory.mktemp("trained")
    shards = make_shards(root, records={"train": 96, "val": 24, "test": 24}, lanes=4)
    ran = call("run", shards.folder, *SMALL)
    assert 0 == ran.code, ran.err
    return Trained(root, read_manifest(ran.out.strip(), expect="training-run"), ran)


@pytest.fixture(scope="session")
def forkserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """Starts workers; it loads TensorFlow while the first test prepares."""
    with ForkServer(tmp_path_factory.mktemp("workers")) as forkserver:
        yield forkserver


@pytest.fixture(scope="session")
def tensorflow() -> None:
    """TensorFlow as the commands set it up; it cannot be set up otherwise afterwards."""
    from audioloom_trainer.distributed.strategy import set_up_tensorflow

    set_up_tensorflow(threads=0, deterministic=True, seed=0)
