"""Makers of features, and the stage called as a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import structlog


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


Sharder = Callable[..., Ran]


@pytest.fixture(scope="session", autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What programs that are killed leave behind goes where pytest cleans up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        yield


@pytest.fixture
def sharder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sharder]:
    """Run a command in this process: arguments in, exit code and both streams out."""
    from audioloom_sharder.cli import main

    monkeypatch.setenv("AUDIOLOOM_SHARDER_MASTER", "inline")
    monkeypatch.setenv("AUDIOLOOM_LOG_FORMAT", "console")

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    structlog.reset_defaults()
