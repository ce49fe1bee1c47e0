"""The same inputs, seed and recipe give the same shards: by their SHA-256, whoever did the work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_sharder.commands import run as shard
from audioloom_storage_testing import CrashPlan
from sharder_features import make_features, windows

# Older pyspark leaves the socket of a job's result to the garbage collector, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

ROWS = windows(120, groups=40)
WORDS = ("--lanes", "4", "--name", "run")
HOOK = """
import sys
if "pyspark.daemon" in sys.orig_argv:
    from audioloom_storage_testing import install_from_environment
    install_from_environment()
"""


def digests(out: str) -> dict[str, str]:
    """SHA-256 of every shard and index, by path."""
    opened = read_manifest(out.strip(), "shards")
    return {entry.path: entry.sha256 for entry in opened.files()}


def one_manifest(root: Path) -> list[Path]:
    return [Path(make_features(root, [ROWS[:50], ROWS[50:]]).folder.path)]


def test_two_tries_at_every_unit_make_one_run(
    sharder: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with speculation: each unit is done twice, and of its two receipts the first stands."""

    @contextmanager
    def twice(*_: object) -> Iterator[Callable[..., Iterator[Any]]]:
        def run(units: Sequence[Any], task: Callable[[Any], Any]) -> Iterator[Any]:
            for unit in units:
                first, second = task(unit), task(unit)
                assert first.files == second.files
                yield second

        yield run

    whole = digests(sharder("run", *one_manifest(tmp_path / "whole"), *WORDS).out)
    monkeypatch.setattr(shard, "executor", twice)
    ran = sharder("run", *one_manifest(tmp_path / "twice"), *WORDS)
    assert 0 == ran.code, ran.err
    assert whole == digests(ran.out)
    monkeypatch.undo()
    assert 0 == sharder("verify", ran.out.strip()).code


@pytest.mark.slow
@pytest.mark.parametrize("step", [5, 12, 17, 28, 40])
def test_a_killed_task_changes_no_byte(sharder: Callable, tmp_path: Path, step: int) -> None:
    """SIGKILL of Spark's Python at a step of its work: told with exit code 75; a rerun is whole."""
    whole = digests(sharder("run", *one_manifest(tmp_path / "whole"), *WORDS).out)
    places = one_manifest(tmp_path / "killed")
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    plan = CrashPlan(tmp_path / "counter", step, "kill")
    program = Path(sys.executable).with_name("audioloom-sharder")
    done = subprocess.run(
        [program, "run", *places, *WORDS, "--master", "local[2]"],
        env={**os.environ, **plan.environment(), "PYTHONPATH": str(tmp_path / "hook")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 75 == done.returncode, done.stderr
    assert not (tmp_path / "killed" / "shards" / "run" / "manifest.json").exists()
    ran = sharder("run", *places, *WORDS, "--master", "local[2]")
    assert whole == digests(ran.out)
    assert 0 == sharder("verify", ran.out.strip()).code
