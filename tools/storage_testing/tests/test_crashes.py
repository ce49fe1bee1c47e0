from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_storage import Location, exists, list_folder, make_folder, publish, remove
from audioloom_storage.backend.fault_points import listen
from audioloom_storage_testing import VARIABLE, Crashed, CrashPlan, install_from_environment, steps


def test_a_crash_is_for_good(here: Location, tmp_path: Path) -> None:
    """From the step on, nothing is done any more, not even reading: this process is dead."""
    with CrashPlan(tmp_path / "counter", 2).armed():
        make_folder(here / "one")
        with pytest.raises(Crashed, match="off at step 2: no make folder /"):
            make_folder(here / "two")
        for later in (
            lambda: make_folder(here / "three"),
            lambda: publish(here / "four", b""),
            lambda: remove(here / "one"),
            lambda: exists(here),
            lambda: list_folder(here),
        ):
            with pytest.raises(Crashed):
                later()
    assert ["one"] == [e.location.name for e in list_folder(here) if e.is_folder]


def test_a_crash_passes_by_handlers() -> None:
    """`except Exception` is what a dead process does not do."""
    assert not issubclass(Crashed, Exception)


def test_a_crash_leaves_what_was_written(here: Location, tmp_path: Path) -> None:
    """No cleanup: the temporary file stays, as after a SIGKILL."""
    folder = here / "folder"
    make_folder(folder)
    with CrashPlan(tmp_path / "counter", 3).armed(), pytest.raises(Crashed, match="off at step 3"):
        publish(folder / "file", b"x" * 3_000_000)
    (left,) = list_folder(folder)
    assert 3_000_000 == left.size
    assert left.location.name.startswith(".file.")


def test_reading_takes_no_number(here: Location, tmp_path: Path) -> None:
    """So that a look more or less does not move the steps of a test."""
    with steps(tmp_path / "counter") as taken:
        exists(here)
        list(list_folder(here))
        assert 0 == taken.count
        publish(here / "file", b"x")
        assert ("create", "write", "sync", "commit", "committed") == taken.names
    publish(here / "other", b"x")
    assert 5 == taken.count


def test_processes_share_the_numbers(here: Location, tmp_path: Path) -> None:
    """Four processes take 100 steps each: no number is lost, none taken twice."""
    script = (
        "import sys\n"
        "from audioloom_storage import locate, make_folder\n"
        "from audioloom_storage_testing import install_from_environment\n"
        "install_from_environment()\n"
        "for number in range(100):\n"
        "    make_folder(locate(sys.argv[1]) / 'sub')\n"
    )
    plan = CrashPlan(tmp_path / "counter", 401)
    environment = {**os.environ, **plan.environment()}
    command = [sys.executable, "-c", script, here.uri]
    workers = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [0, 0, 0, 0] == [worker.wait(timeout=60) for worker in workers]
    assert 400 == (tmp_path / "counter").stat().st_size
    last = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert 1 == last.returncode
    assert "Crashed: the power went off at step 401" in last.stderr


def test_no_plan_no_crash(here: Location) -> None:
    """Without the variable, nothing listens."""
    install_from_environment({})
    install_from_environment({VARIABLE: ""})
    assert listen(None) is None
    publish(here / "file", b"")


@pytest.mark.parametrize("text", ["counter", "counter:1", "counter:0:raise", ":1:raise", "c:1:die"])
def test_a_bad_plan_is_loud(text: str) -> None:
    """A crash test that injects nothing would pass for nothing."""
    with pytest.raises(ValueError, match="expected COUNTER:N:raise"):
        install_from_environment({VARIABLE: text})


def test_a_plan_goes_through_the_environment(here: Location, tmp_path: Path) -> None:
    """Colons in the counter's path included."""
    plan = CrashPlan(tmp_path / "a:1:kill", 1)
    assert {VARIABLE: f"{tmp_path}/a:1:kill:1:raise"} == plan.environment()
    install_from_environment(plan.environment())
    try:
        with pytest.raises(Crashed):
            publish(here / "file", b"")
    finally:
        listen(None)
