import os
import subprocess
import sys

import pytest
from audioloom_spark.jvm_stderr import filtered_stderr

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


def test_a_failed_start_leaves_stderr_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    """After an error in the block this process writes to its own stderr again."""
    with pytest.raises(FileNotFoundError), filtered_stderr() as messages:
        subprocess.run(["/nowhere/java"], check=True)
    messages.join(timeout=60)
    os.write(2, b"said\n")
    assert (False, "said\n") == (messages.is_alive(), capfd.readouterr().err)


def test_a_session_is_silent_but_for_errors() -> None:
    """Spark starts without a word on stderr; what the JVM writes there arrives."""
    program = (
        "from audioloom_spark.session import spark_session\n"
        "from audioloom_spark.settings import SparkSettings\n"
        "with spark_session('test', SparkSettings(master='local[1]')) as session:\n"
        "    session._jvm.java.lang.System.err.println('an error')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "an error\n" == done.stderr
