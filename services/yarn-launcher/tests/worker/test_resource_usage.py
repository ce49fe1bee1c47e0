import subprocess
from pathlib import Path

import pytest
from audioloom_yarn_launcher.system.processes import tree
from audioloom_yarn_launcher.worker.resource_usage import (
    MIB,
    container_limit_bytes,
    gpus,
    memory_bytes,
)

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
