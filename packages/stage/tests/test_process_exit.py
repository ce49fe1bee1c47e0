from __future__ import annotations

import subprocess
import sys

import pytest


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"from audioloom_stage.process_exit import as_program\n{program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


HANDLERS = """
import atexit, sys, threading

said = threading.Event()

def late():
    said.wait()
    print("thread")

def body():
    atexit.register(print, "handler")
    threading.Thread(target=late).start()
    print("body")
    said.set()
    return 3

class Finalized:
    def __del__(self):
        print("finalized", file=sys.stderr)

sys.kept = Finalized()
sys.exit(as_program(body))
"""


def test_handlers_and_threads_end_first_and_nothing_is_finalized() -> None:
    """What a program prints on its way out is written; objects are left to the kernel."""
    done = ended(HANDLERS)
    assert (3, "body\nthread\nhandler\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("sys.exit(78)", 78),
        ("sys.exit()", 0),
        ("sys.exit('no')", 1),
        ("1 / 0", 1),
    ],
)
def test_a_body_that_raises_ends_as_python_would(body: str, code: int) -> None:
    """Words that argparse refuses, and errors of ours."""
    done = ended(f"import sys\ndef body():\n    {body}\nsys.exit(as_program(body))")
    assert code == done.returncode
    assert ("ZeroDivisionError" in done.stderr) == (body == "1 / 0")


def test_a_fork_ends_with_its_own_code() -> None:
    """The code of the program is not that of every process that it forks."""
    fork = """
import os, sys

def body():
    child = os.fork()
    if not child:
        sys.exit(5)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

code = as_program(body)
sys.exit(code)
"""
    assert 5 == ended(fork).returncode


def test_output_that_cannot_be_written_at_the_end_is_no_error_of_its_own() -> None:
    """Both streams are gone; the code says what became of the work."""
    program = """
import os, sys

def body():
    print("unwritten")
    os.close(1)
    os.close(2)
    return 4

sys.exit(as_program(body))
"""
    assert 4 == ended(program).returncode
