from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from audioloom_manifest.reader import Opened
from audioloom_storage import Location, locate
from small_root import make_root

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@dataclass(frozen=True)
class Ran:
    """A command that was called in this process."""

    code: int
    out: str
    err: str


Program = Callable[..., Ran]


@pytest.fixture
def root(tmp_path: Path) -> Location:
    """An empty root of runs."""
    (tmp_path / "loom").mkdir()
    return locate(tmp_path / "loom")


@pytest.fixture
def runs(root: Location) -> dict[str, Opened[Any]]:
    """A root with a run of each kind."""
    return make_root(root)


@pytest.fixture
def program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Program]:
    """Run a command in this process: words in, exit code and both streams out."""
    from audioloom.cli import main

    for name in [each for each in os.environ if each.startswith("AUDIOLOOM_")]:
        if name != "AUDIOLOOM_LATE_FILES_SECONDS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("AUDIOLOOM_LOG_FORMAT", "console")
    handlers, level = logging.root.handlers[:], logging.root.level

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    yield run
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
