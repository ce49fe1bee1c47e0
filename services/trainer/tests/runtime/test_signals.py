"""SIGTERM: taken over before any thread is there that could be ended by it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from trainer_program import SMALL, Trained, call

COUNT_THREADS = """
import os, sys
from audioloom_trainer import cli
from audioloom_trainer.runtime import signals
def spy(grace=0.0):
    print(len(os.listdir("/proc/self/task")), "numpy" in sys.modules, file=sys.stderr)
    raise KeyboardInterrupt
signals.handle_sigterm = spy
cli.main(["run", "nothing", "--quiet"])
"""


def test_the_signal_is_blocked_while_there_is_one_thread() -> None:
    """NumPy starts threads when it is imported; one that does not block it ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT_THREADS], capture_output=True, text=True, check=False
    )
    assert "1 False" in done.stderr


@pytest.mark.slow
def test_a_program_that_is_told_to_end_saves_and_goes_on(trained: Trained, tmp_path: Path) -> None:
    """Exit code 75 and a checkpoint; the same command then makes the run as if nothing had been."""
    words = ["run", str(trained.root / "shards" / "demo"), *SMALL, "--epochs", "300"]
    words += ["--root", str(tmp_path), "--log-format", "json", "--name"]
    program = Path(sys.executable).with_name("audioloom-trainer")
    with subprocess.Popen(
        [program, *words, "told"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr
        while "epoch" != event(process.stderr.readline()):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        told = process.stderr.read()
        assert 75 == process.wait(), told
    assert "1 of 1 workers received SIGTERM" in told
    assert any((tmp_path / "runs" / "told" / "checkpoints").iterdir())
    runs = [
        read_manifest(call(*words, name).out.strip(), "training-run") for name in ("told", "whole")
    ]
    assert runs[0].manifest.identity == runs[1].manifest.identity


def event(line: str) -> str:
    """What a line of the log says, if it is one."""
    try:
        return str(json.loads(line).get("event"))
    except ValueError:
        return ""
