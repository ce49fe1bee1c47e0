from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

TOY = Path(__file__).with_name("toy.py")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer has set must not reach the tests."""
    for name in [each for each in os.environ if each.startswith("AUDIOLOOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def program() -> Run:
    """Run the toy stage as a real program: `program("run", "noise", LANES="3")`."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        named = {f"AUDIOLOOM_TOY_{name}": text for name, text in variables.items()}
        return subprocess.run(
            [sys.executable, TOY, *words],
            capture_output=True,
            text=True,
            env=os.environ | named,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def toy(quiet_logging: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the toy stage in this process, which is quicker by half a second."""
    spec = importlib.util.spec_from_file_location("toy", TOY)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.ExitStack() as stack:
            patch = stack.enter_context(monkeypatch.context())
            for name, text in variables.items():
                patch.setenv(f"AUDIOLOOM_TOY_{name}", text)
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            code = module.main(list(words))
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def quiet_logging() -> Iterator[None]:
    """Put the logging of this process back after a test that configured it."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
