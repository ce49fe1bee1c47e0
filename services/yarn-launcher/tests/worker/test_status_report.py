import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.system.processes import tree
from audioloom_yarn_launcher.worker import status_report
from audioloom_yarn_launcher.worker.status_report import (
    MIB,
    MOST_LINE_BYTES,
    ProgressFeed,
    StatusReport,
    container_limit_bytes,
    gpus,
    memory_bytes,
)
from launcher_processes import finish, until

ABOUT = {"rank": 3, "attempt": 2, "generation": 1}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EVERY_S", "FIRST_SAMPLE_S", "SAMPLE_EVERY_S"):
        monkeypatch.setattr(status_report, name, 0.01)


def note(feed: ProgressFeed, text: str) -> None:
    """What a program would append."""
    with Path(feed.path).open("a") as file:
        file.write(text)


def test_what_is_no_progress_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a program writes there; a line is taken once it is whole."""
    monkeypatch.setattr(status_report, "CHUNK_BYTES", 100)
    feed = ProgressFeed()
    assert {} == feed.newest()
    note(feed, "nonsense\n[1]\n" + "[" * 5000 + "\n" + '{"step": 1}\n{"step"')
    assert {"step": 1} == feed.newest()
    note(feed, ": 2}\n" + "x" * (2 * MOST_LINE_BYTES))
    assert {"step": 2} == feed.newest()
    note(feed, '\n{"step": 3, "text": "no access with --token hunter2"}\n')
    assert {"step": 3, "text": "no access with --token **********"} == feed.newest()
    feed.close()


def test_a_store_that_is_lost_costs_nothing(quick: None) -> None:
    """The worker's own calls say so."""
    tried = threading.Event()

    def lost(_: str) -> None:
        tried.set()
        raise StoreLost("gone")

    feed = ProgressFeed()
    report = StatusReport(lost, ABOUT, os.getpid(), feed)
    assert tried.wait(60)
    report.close()
    feed.close()


def test_a_process_counts_with_all_it_started(quick: None, monkeypatch: Any) -> None:
    """And its peak is in the last report, beside the last that it noted; none comes after that."""
    monkeypatch.setenv("SKEIN_RESOURCE_MEMORY", "128")
    hungry = "held = b'x' * (64 << 20); print('ready', flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hungry!r}])"
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    feed, told = ProgressFeed(), list[str]()
    report = StatusReport(told.append, ABOUT, parent.pid, feed, log_url="n1:1/log")
    until(lambda: told, "a report")
    first = json.loads(told[0])
    assert ABOUT == {name: first[name] for name in ABOUT}
    assert 64 * MIB < first["usage"]["memory_bytes"] < 200 * MIB
    assert (2, 128 * MIB) == (first["usage"]["processes"], first["usage"]["memory_limit_bytes"])
    assert "n1:1/log" == first["usage"]["log_url"]
    note(feed, '{"event": "done", "step": 9}\n')
    parent.communicate(b"\n")
    report.close()
    known = len(told)
    last = json.loads(told[-1])
    assert ("done", 9, 0) == (last["event"], last["step"], last["usage"]["memory_bytes"])
    assert 64 * MIB < last["usage"]["peak_memory_bytes"]
    until(lambda: "status" not in {each.name for each in threading.enumerate()}, "its end")
    assert known == len(told)
    feed.close()


def test_a_process_of_which_nothing_is_known_is_not_reported() -> None:
    """It ended before the first sample, and noted nothing."""
    feed, told = ProgressFeed(), list[str]()
    StatusReport(told.append, ABOUT, os.getpid(), feed).close()
    feed.close()
    assert [] == told


NOTES = """
import json, os, sys, time
with open(os.environ["AUDIOLOOM_RUN_PROGRESS"], "a") as file:
    print(json.dumps({"event": "step", "step": 40, "rank": 9, "attempt": 9}), file=file)
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
sys.exit(3 if (rank, os.environ["AUDIOLOOM_RUN_ATTEMPT"]) == (0, "1") else 0)
"""


def test_the_launcher_publishes_what_its_workers_note(launches: Any) -> None:
    """By its own ranks and attempts, each attempt in one file, and `status` shows it."""
    words = ("run", f"--root={launches.root}", "--workers=2", "--", sys.executable, "-c", NOTES)
    code, _, err = launches.run(*words)
    assert 0 == code, err
    folder = launches.the_run()
    names = [path.name for path in (folder / "progress").iterdir()]
    assert ["1", "2"] == sorted(name.partition(".")[0] for name in names)
    for name in names:
        lines = (folder / "progress" / name).read_text().splitlines()
        found = [json.loads(line) for line in lines]
        assert {0, 1} >= {line["rank"] for line in found}
        assert {int(name.partition(".")[0])} >= {line["attempt"] for line in found}
    code, out, _ = launches.run("status", "--json", str(folder))
    assert [40, 40] == [each["progress"]["step"] for each in json.loads(out)["workers"]]


def test_a_run_notes_what_its_workers_take(launches: Any) -> None:
    """And `status` shows it while they run."""
    process = launches.start(options=("--workers=1",))
    launches.note(0, 1)

    def shown() -> Any:
        code, out, _ = launches.run("status", "--json", str(launches.the_run()))
        assert 0 == code
        return json.loads(out)["workers"][0]["usage"].get("peak_memory_bytes")

    assert until(shown, "it is shown") > MIB
    launches.go()
    assert 0 == finish(process)[0]


SMI = """#!/bin/sh
case "$1" in
  *compute-apps*) echo "{pid}, GPU-b"; echo "1, GPU-a"; echo "[N/A], GPU-c" ;;
  *) echo "0, GPU-a, 5, 1, 81920"; echo "1, GPU-b, 93, 40960, 81920"; echo "2, GPU-c, x, y, z" ;;
esac
"""


def test_what_is_gone_holds_nothing() -> None:
    """It may end between two looks."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert 0 == memory_bytes(process.pid)
    assert [process.pid] == tree(process.pid)


def test_the_limit_is_what_the_container_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one machine there is none."""
    monkeypatch.delenv("SKEIN_RESOURCE_MEMORY", raising=False)
    assert container_limit_bytes() is None
    monkeypatch.setenv("SKEIN_RESOURCE_MEMORY", "2048")
    assert 2048 * MIB == container_limit_bytes()


def test_the_gpus_are_those_that_the_processes_work_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nvidia-smi tells, of which here is one that we wrote; without it there are none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [] == gpus([7])
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.format(pid=7))
    program.chmod(0o755)
    assert [] == gpus([8])
    expected = {"index": 1, "busy": 0.93}
    expected |= {"memory_bytes": 40960 * MIB, "memory_total_bytes": 81920 * MIB}
    assert [expected] == gpus([7, 8])
