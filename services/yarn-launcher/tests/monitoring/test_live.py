import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.monitoring.live import HINT, HINT_HERE, Pace, live_page, progress_line
from audioloom_yarn_launcher.monitoring.run_status import RunStatus, WorkerStatus, read_run_status
from launcher_processes import Launches, finish, until

SIZE = os.terminal_size((80, 24))


def worker(rank: int, **more: Any) -> WorkerStatus:
    plain = WorkerStatus(rank, "running", "n1", None, 1, "", {"step": 10, "steps": 40}, {}, None)
    return replace(plain, **more)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunStatus:
    """Of a run that failed once."""
    folder = tmp_path_factory.mktemp("view")
    launches = Launches(folder, folder / "root")
    launches.notes.mkdir()
    launches.go()
    assert 0 == finish(launches.start("0.1:exit=3"))[0]
    found = read_run_status(locate(launches.the_run()))
    return replace(found, state="running")


def test_a_page_says_how_far_the_run_is(view: RunStatus) -> None:
    """How fast, what went wrong before, and that Ctrl-C is harmless."""
    page = live_page(view, [worker(0)], SIZE, rate=2.0)
    assert page[0].startswith(f"{view.folder.name}  running  1 workers (local)  attempt 2 since")
    assert "█████░░░░░░░░░░░░░░░  25%  training 10/40 steps  2.0/s  0:15 left" == page[1]
    assert "attempt 1 failed: the process of worker 0 ended with exit code 3" in page
    assert HINT == page[-1]


def test_the_time_left_counts_all_that_is_done_between_steps(view: RunStatus) -> None:
    """From the first step that this view has seen, anew after a restart."""
    now = iter((0.0, 10.0, 20.0, 30.0))
    pace = Pace(lambda: next(now))
    assert pace.rate(view, []) is None
    found = [pace.rate(view, [worker(0, progress={"step": step})]) for step in (5, 5, 45, 2)]
    assert [None, None, 2.0, None] == found


def test_of_many_workers_those_are_shown_that_are_not_like_the_most(view: RunStatus) -> None:
    """And those that are behind; the page never scrolls."""
    workers = [worker(rank) for rank in range(100)]
    workers[70] = worker(70, state="lost")
    workers[80] = worker(80, progress={"step": 3})
    page = live_page(view, workers, SIZE)
    assert len(page) < SIZE.lines
    shown = [line.split()[0] for line in page if "n1" in line]
    assert {"70", "80"} <= set(shown)
    assert sorted(shown, key=int) == shown
    assert f"… and {100 - len(shown)} more" in page
    assert all(len(line) < SIZE.columns for line in page)


def test_before_anything_is_known_there_is_no_bar(view: RunStatus) -> None:
    """Nor a table."""
    assert not [line for line in live_page(view, [], SIZE) if "░" in line]


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    for each in (ours, theirs):
        os.close(each)


def test_it_is_drawn_over_itself_and_leaves_the_run_alone(
    launches: Any, terminal: tuple[int, int]
) -> None:
    """Ctrl-C takes the page away, prints the plain one, and is no failure."""
    process = launches.start(options=("--workers=2",))
    launches.note(0, 1)
    folder = launches.the_run()
    until((folder / "attempts/1.members.json").exists, "the members")
    ours, theirs = terminal
    words = [sys.executable, "-m", "audioloom_yarn_launcher", "status", "--follow", str(folder)]
    watching = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=os.environ | {"TERM": "xterm"},
    )
    launches.started.append(watching)
    seen = b""
    while HINT.encode() not in seen:
        seen += os.read(ours, 65536)
    watching.send_signal(signal.SIGINT)
    code, out, _ = finish(watching)
    assert 0 == code
    assert re.search("^state +running$", out, re.MULTILINE)
    assert process.poll() is None
    while not seen.endswith(
        b"next: audioloom-yarn-launcher logs " + str(folder).encode() + b" --follow\r\n"
    ):
        seen += os.read(ours, 65536)
    assert b"A\r\x1b[J" in seen  # taken away
    launches.go()
    assert 0 == finish(process)[0]


def test_without_a_terminal_it_is_told_in_the_log(launches: Any) -> None:
    """And ends with the run."""
    process = launches.start(options=("--workers=1",))
    launches.note(0, 1)
    watching = launches.program("status", "-f", str(launches.the_run()))
    err = ""
    while "running  attempt 1, workers: 1" not in err:
        err += watching.stderr.readline()
    launches.go()
    assert 0 == finish(process)[0]
    code, out, _ = finish(watching)
    assert 0 == code
    assert "finished" in out


def test_a_line_in_the_log_can_be_read() -> None:
    """What a command says of itself may be no number: it is left out."""
    numbers = {"attempt": 1, "workers": 2, "step": 1374, "steps": 1600, "loss": 6.281e-06}
    line = progress_line("running", numbers | {"steps_per_second": 41.04, "input_wait": 0.1046})
    expected = "running  attempt 1, workers: 2  step 1,374 of 1,600  loss 6.281e-06"
    assert f"{expected}  41.04 steps/s  input wait 10.5%" == line
    assert "running  step 3" == progress_line("running", {"step": 3, "loss": ["no number"]})
    assert "waiting for the workers" == progress_line("forming", {})


def test_a_run_shows_itself(launches: Any, terminal: tuple[int, int]) -> None:
    """`run` draws the page of its workers while it waits, with the effect of Ctrl-C."""
    ours, theirs = terminal
    process = launches.start(
        options=("--workers=2",), stderr=theirs, env=os.environ | {"TERM": "xterm"}
    )
    launches.note(0, 1)
    seen = b""
    while not re.search(rb"2 workers \(local\).*\n +1  .*" + HINT_HERE.encode(), seen, re.DOTALL):
        seen += os.read(ours, 65536)
    launches.go()
    assert 0 == finish(process)[0]


def test_a_run_that_is_over_is_shown_at_once(launches: Any, tmp_path: Path) -> None:
    """There is nothing to wait for."""
    launches.go()
    assert 0 == finish(launches.start())[0]
    assert 0 == launches.run("status", "--follow", str(launches.the_run()))[0]
