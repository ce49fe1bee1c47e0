from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from audioloom_trainer.runtime.resources import (
    available_cores,
    give_way,
    limit_arithmetic,
    raise_file_limit,
)

MINE = len(os.sched_getaffinity(0))
LIBRARIES = ("OMP", "OPENBLAS", "MKL")
COUNT = """
import os, sys
from audioloom_trainer import cli
cli.main({words!r})
assert "audioloom_trainer.commands.{command}" in sys.modules, "it was not called"
import numpy as np
np.ones((400, 400)) @ np.ones((400, 400))
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        (None, MINE),
        ("max 100000\n", MINE),
        ("nonsense", MINE),
        ("", MINE),
        ("100000 0", MINE),
        ("100000 100000\n", 1),
        ("50000 100000\n", 1),
        ("100001 100000\n", min(2, MINE)),
        ("99900000 100000\n", MINE),
    ],
)
def test_a_quota_is_rounded_up_and_never_more_than_there_are(
    tmp_path: Path, text: str | None, cores: int
) -> None:
    """A file that is not there, or says nothing, sets no limit."""
    file = tmp_path / "cpu.max"
    if text is not None:
        file.write_text(text)
    assert cores == available_cores(file, {})


@pytest.mark.parametrize(
    ("text", "cores"),
    [("1", 1), ("0", 1), ("9999", MINE), ("", MINE), ("many", MINE), ("-1", MINE)],
)
def test_a_container_has_the_cores_that_were_asked_for(
    tmp_path: Path, text: str, cores: int
) -> None:
    """At least one, and never more than there are."""
    assert cores == available_cores(tmp_path / "none", {"SKEIN_RESOURCE_VCORES": text})


def test_the_limit_of_open_files_is_raised() -> None:
    """As far as this process may, and it is never lowered."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        raise_file_limit()
        raised = resource.getrlimit(resource.RLIMIT_NOFILE)
        raise_file_limit()
        assert (
            raised
            == resource.getrlimit(resource.RLIMIT_NOFILE)
            == (min(65_536, before[1]), before[1])
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_what_the_user_has_set_stays() -> None:
    """The rest follows the number of threads, or of cores."""
    variables = {"OMP_NUM_THREADS": "7"}
    limit_arithmetic(3, variables)
    assert ["7", "3", "3"] == [variables[f"{each}_NUM_THREADS"] for each in LIBRARIES]
    limit_arithmetic(0, variables := {})
    assert {str(available_cores())} == {*variables.values()}


@pytest.mark.parametrize("command", ["run", pytest.param("evaluate", marks=pytest.mark.slow)])
def test_numpy_takes_the_threads_of_the_command(command: str) -> None:
    """It starts them when it is imported, so its processes are counted after that."""
    found = {}
    for threads in ("1", "2"):
        words = [command, "nothing", "--threads", threads, "--quiet"]
        done = subprocess.run(
            [sys.executable, "-c", COUNT.format(command=command, words=words)],
            capture_output=True,
            text=True,
            check=True,
            env={k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")},
        )
        found[threads] = int(done.stdout)
    assert found["2"] == found["1"] + 1


def test_a_thread_that_gives_way_leaves_the_others_as_they_are() -> None:
    """A niceness is a thread's own, and counts from that of its process."""
    before, taken = os.getpriority(os.PRIO_PROCESS, 0), []

    def work() -> None:
        give_way()
        taken.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [min(19, before + 5)] == taken
    assert before == os.getpriority(os.PRIO_PROCESS, 0)
