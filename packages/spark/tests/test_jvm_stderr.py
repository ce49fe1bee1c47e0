import os
import pty
import subprocess
import sys

import pytest
from audioloom_spark.session import filtered_stderr

NOISE = "WARNING: Using incubator modules: jdk.incubator.vector"


def test_all_but_the_known_lines_pass(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning that is not the known one, an error and a last line without an end all pass."""
    lines = f"{NOISE}\nWARNING: Using incubator modules: another\nan error\nthe end"
    program = f"import sys; sys.stderr.write({lines!r})"
    with filtered_stderr() as messages:
        child = subprocess.Popen([sys.executable, "-c", program])
    child.wait()
    messages.join(timeout=60)
    assert "WARNING: Using incubator modules: another\nan error\nthe end" == capfd.readouterr().err


def test_no_terminal_obeys_a_line_and_no_secret_is_in_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Labels, paths and settings come into the messages of Java."""
    program = "import sys; sys.stderr.buffer.write(b'\\tx\\x1b[2J password=sesame \\xff\\n')"
    with filtered_stderr() as messages:
        child = subprocess.Popen([sys.executable, "-c", program])
    child.wait()
    messages.join(timeout=60)
    assert "\tx\\x1b[2J password=********** \ufffd\n" == capfd.readouterr().err


def test_a_failed_start_leaves_stderr_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    """After an error in the block this process writes to its own stderr again."""
    with pytest.raises(FileNotFoundError), filtered_stderr() as messages:
        subprocess.run(["/nowhere/java"], check=True)
    messages.join(timeout=60)
    os.write(2, b"said\n")
    assert (False, "said\n") == (messages.is_alive(), capfd.readouterr().err)


def test_a_bar_of_this_process_stays_on_the_terminal() -> None:
    """It has no line end, and is no line of the JVM: the pipe would keep it back."""
    program = (
        "import os, sys\n"
        "from audioloom_spark.session import filtered_stderr\n"
        "with filtered_stderr() as messages:\n"
        "    print('bar', sys.stderr.isatty(), end='', file=sys.stderr, flush=True)\n"
        "    os.write(2, b', a line of the JVM\\n')\n"
        "messages.join(timeout=60)\n"
    )
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", program], stderr=theirs, check=True)
    os.close(theirs)
    shown = b""
    while not shown.endswith(b"JVM\r\n"):
        shown += os.read(ours, 1000)
    assert b"bar True" == shown.partition(b",")[0]
    os.close(ours)
