import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.system.processes import tree
from audioloom_yarn_launcher.worker import resource_usage
from audioloom_yarn_launcher.worker.resource_usage import (
    MIB,
    UsageRecorder,
    container_limit_bytes,
    gpus,
    memory_bytes,
    read_usage,
)
from launcher_processes import finish, until

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


def test_where_nothing_is_noted_nothing_is_known(tmp_path: Path) -> None:
    """Nor where what is noted cannot be read."""
    assert {} == read_usage(locate(tmp_path), 0, 1)
    (tmp_path / "usage").mkdir()
    for text in ("{", "[1]"):
        (tmp_path / "usage/0.1.json").write_text(text)
        assert {} == read_usage(locate(tmp_path), 0, 1)


def test_a_storage_that_fails_costs_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    """The run does not hear of it."""
    monkeypatch.setattr(resource_usage, "FIRST_S", 0.0)
    (tmp_path / "usage").write_text("no folder")
    watch = UsageRecorder(locate(tmp_path), 0, 1, os.getpid())
    watch.close()
    assert "no folder" == (tmp_path / "usage").read_text()


def test_what_is_noted_behind_a_link_is_not_replaced(tmp_path: Path, monkeypatch: Any) -> None:
    """It is another run's."""
    monkeypatch.setattr(resource_usage, "FIRST_S", 0.0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/0.1.json").write_text("another's")
    (tmp_path / "usage").symlink_to(tmp_path / "other")
    watch = UsageRecorder(locate(tmp_path), 0, 1, os.getpid())
    until(lambda: watch.samples, "a sample")
    watch.close()
    assert "another's" == (tmp_path / "other/0.1.json").read_text()


def test_a_process_counts_with_all_it_started(tmp_path: Path, monkeypatch: Any) -> None:
    """And what was the most stays on record when it has ended."""
    monkeypatch.setattr(resource_usage, "FIRST_S", 0.01)
    monkeypatch.setattr(resource_usage, "EVERY_S", 0.01)
    monkeypatch.setenv("SKEIN_RESOURCE_MEMORY", "128")
    hungry = "held = b'x' * (64 << 20); print('ready', flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hungry!r}])"
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    folder = locate(tmp_path)
    watch = UsageRecorder(folder, 3, 2, parent.pid)
    found = until(lambda: read_usage(folder, 3, 2), "a sample")  # none while it is replaced
    assert 64 * MIB < found["memory_bytes"] < 200 * MIB
    assert 2 == found["processes"]
    parent.communicate(b"\n")
    watch.close()
    last = until(lambda: read_usage(folder, 3, 2), "the last one")
    assert ("usage", 3, 2, 128 * MIB) == tuple(
        last[key] for key in ("kind", "rank", "attempt", "memory_limit_bytes")
    )
    assert 64 * MIB < last["peak_memory_bytes"]


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


def test_a_run_notes_what_its_workers_take(launches: Any) -> None:
    """Beside their logs, and `status` shows it."""
    process = launches.start(options=("--workers=1",))
    launches.note(0, 1)
    until((launches.the_run() / "usage/0.1.json").exists, "a sample")

    def shown() -> Any:
        code, out, _ = launches.run("status", "--json", str(launches.the_run()))
        assert 0 == code
        return json.loads(out)["workers"][0]["usage"].get("peak_memory_bytes")

    assert until(shown, "it is shown") > MIB  # not while the sample is replaced
    launches.go()
    assert 0 == finish(process)[0]
