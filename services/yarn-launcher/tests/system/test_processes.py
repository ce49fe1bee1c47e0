import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.system.processes import MARKER
from launcher_processes import alive, until

SLEEPING = "import subprocess, time; p = subprocess.Popen(['sleep', '300'], start_new_session=True)"


@pytest.fixture
def output(tmp_path: Path) -> Any:
    with (tmp_path / "output").open("w+b") as file:
        yield file


def started(output: Any, marker: str, code: str, **more: Any) -> subprocess.Popen[bytes]:
    """A Python process that has printed a line."""
    command = [sys.executable, "-u", "-c", f"{code}; print('up'); time.sleep(300)"]
    environment = {**os.environ, MARKER: marker}
    process = processes.start(command, environment=environment, output=output.fileno(), **more)
    while b"up" not in Path(output.name).read_bytes():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_what_left_its_group_is_found_by_its_marker(output: Any) -> None:
    """A child in a session of its own ends with the process."""
    marker = f"{uuid.uuid4().hex}/w/0/"
    process = started(output, marker, SLEEPING)
    until(lambda: len(processes.marked(marker)) == 2, "both can be seen")
    family = processes.marked(marker)
    processes.end(process, marker=marker)
    assert not [pid for pid in family if alive(pid)]
    assert -signal.SIGKILL == process.returncode


def test_a_marker_finds_what_begins_so_and_nothing_else(output: Any) -> None:
    """The gang's marker sweeps all its workers, a worker's only its own."""
    launch = uuid.uuid4().hex
    process = started(output, f"{launch}/worker-1/0/", "import time")
    assert [] == processes.sweep(f"{launch}/worker-10/")
    assert process.poll() is None
    assert [process.pid] == processes.sweep(f"{launch}/")
    assert -signal.SIGKILL == process.wait()


def test_a_sweep_waits_for_what_ends_slowly(output: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a killed process runs on for a while, without the marker to find it by."""
    process = started(output, f"{uuid.uuid4().hex}/", "import time")
    naps = []

    def nap(_: float) -> None:
        naps.append(1)
        if len(naps) == 3:
            process.kill()
            process.wait()

    monkeypatch.setattr(processes, "marked", lambda _: [])
    monkeypatch.setattr(time, "sleep", nap)
    assert [] == processes.sweep("any", [process.pid])
    assert not alive(process.pid)


def test_who_may_end_by_itself_is_asked_first(output: Any) -> None:
    """SIGTERM and some patience, then nothing more is needed."""
    marker = f"{uuid.uuid4().hex}/"
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))"
    process = started(output, marker, code)
    processes.end(process, marker=marker, grace_s=60)
    assert 5 == process.returncode


@pytest.mark.parametrize(
    ("command", "code"), [("no-such-program", 127), (str(Path(__file__).parent), 126)]
)
def test_a_program_that_cannot_be_run_ends_as_in_a_shell(
    output: Any, command: str, code: int
) -> None:
    """And says so in its output."""
    process = processes.start([command], environment=os.environ, output=output.fileno())
    assert code == process.wait()
    assert command in Path(output.name).read_text()


def test_a_process_ends_with_its_parent(output: Any, tmp_path: Path) -> None:
    """The kernel sees to it, whatever the parent dies of."""
    code = f"""
import os, sys
from audioloom_yarn_launcher.system import processes
with open({str(tmp_path / "other")!r}, "wb") as output:
    child = processes.start(["sleep", "300"], environment=os.environ, output=output.fileno())
print(child.pid, flush=True)
sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.communicate()
    until(lambda: not alive(pid), "the child has ended")


def test_a_process_may_end_while_its_children_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder was there a moment ago."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    monkeypatch.setattr(Path, "is_dir", lambda _: True)
    assert [process.pid] == processes.tree(process.pid)


def test_signals_are_as_they_were(output: Any) -> None:
    """A command that writes to a closed pipe dies of SIGPIPE, as it does in a shell."""
    process = processes.start(
        ["sh", "-c", "yes | head -1 > /dev/null; kill -PIPE $$"],
        environment=os.environ,
        output=output.fileno(),
    )
    assert -signal.SIGPIPE == process.wait()
