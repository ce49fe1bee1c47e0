"""Fixtures of all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from audioloom_featurizer.cli import main
from audioloom_featurizer.extraction import sample
from featurizer_work import write_wav

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session", autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What programs that are killed leave behind goes where pytest cleans up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        yield


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer has set must not reach the tests."""
    for name in [each for each in os.environ if each.startswith("AUDIOLOOM_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _one_recording_for_librosa(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run compares a sample; hundreds of runs here need no more than one recording each."""
    monkeypatch.setattr(sample, "SAMPLE", 1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Seven good recordings of two labels."""
    folder = tmp_path / "source"
    for number in range(7):
        label = ("yes", "no")[number % 2]
        write_wav(folder / label / f"s{number}-take.wav", 0.2 + number / 10, seed=number)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run the real command in an empty folder of its own."""
    cwd = tmp_path / "cwd"
    cwd.mkdir()

    def call(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(Path(sys.executable).with_name("audioloom-featurizer")), *map(str, words)],
            capture_output=True,
            text=True,
            env={**os.environ, **variables},
            cwd=cwd,
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Program]:
    """Run a command in this process, in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, said.out, said.err)

    yield call
    structlog.reset_defaults()
