from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from audioloom_trainer.runtime.stderr_filter import without_chatter

SAYS = b"""I0000 00:00:17 1 port.cc:153] oneDNN custom operations are on.
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
W0000 00:00:17 1 gpu.cc:1] no GPU here
Imagine that."""
PROGRAM = """
import os
from audioloom_trainer.runtime.stderr_filter import without_chatter
with without_chatter():
    os.write(2, b"I0000 chatter\\nF0000 these instructions are not available here\\n")
    os.abort()
"""


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208  (names alone)


def test_what_a_dying_process_says_last_comes_through() -> None:
    """As TensorFlow ends on a machine that it was not built for."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=False)
    assert -signal.SIGABRT == ended.returncode
    assert b"F0000 these instructions are not available here\n" == ended.stderr
    assert b"" == ended.stdout


def test_only_chatter_is_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings stay, and so does what merely begins alike; nothing stays open."""
    before = open_files()
    with without_chatter():
        os.write(2, SAYS)
    os.write(2, b" And after it, anything: I0000\n")
    assert before == open_files()
    _, said = capfd.readouterr()
    expected = (
        "W0000 00:00:17 1 gpu.cc:1] no GPU here\nImagine that. And after it, anything: I0000\n"
    )
    assert expected == said


def test_the_name_of_a_program_that_cannot_start_changes_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the filter everything is said."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = open_files()
    with without_chatter():
        os.write(2, b"I0000 chatter\n")
    assert before == open_files()
    assert "I0000 chatter\n" == capfd.readouterr().err
