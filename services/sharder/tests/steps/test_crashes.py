"""Power cut at every numbered step: no manifest or one that verifies, and a rerun works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_manifest.reader import read_manifest
from audioloom_storage_testing import Crashed, CrashPlan, steps
from sharder_features import make_features, windows

WORDS = ("--lanes", "2", "--name", "run")

PROGRAM = """
import sys
from audioloom_storage_testing import install_from_environment
install_from_environment()
from audioloom_sharder.cli import main
sys.exit(main())
"""


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Two features files of a few windows."""
    rows = windows(40, groups=40)
    return Path(make_features(tmp_path / "root", [rows[:25], rows[25:]]).folder.path)


def _steps(sharder: Callable, features: Path, tmp_path: Path) -> tuple[int, str]:
    """How many steps an undisturbed run takes, and the identity it ends with."""
    with steps(tmp_path / "count") as taken:
        ran = sharder("run", features, *WORDS)
    identity = read_manifest(ran.out.strip(), "shards").manifest.identity
    shutil.rmtree(tmp_path / "root" / "shards")
    return taken.count, identity


def _after_a_crash(sharder: Callable, features: Path, identity: str) -> None:
    """Nothing is committed, or it verifies; a rerun gives the run that would have been."""
    root = features.parent.parent
    manifest = root / "shards" / "run" / "manifest.json"
    if manifest.exists():
        assert 0 == sharder("verify", manifest).code
    again = sharder("run", features, *WORDS)
    assert 0 == again.code, again.err
    assert identity == read_manifest(again.out.strip(), "shards").manifest.identity
    assert 0 == sharder("verify", manifest).code
    assert 0 == sharder("gc", "--root", root, "--delete", "--older-than", "0s").code
    assert 0 == sharder("verify", manifest).code
    folder = root / "shards" / "run"
    left = {path for path in folder.rglob("*") if path.is_file()}
    opened = read_manifest(str(manifest), "shards")
    named = {folder / entry.path for entry in opened.files()}
    named |= {manifest, folder / opened.manifest.files.name, *(folder / "receipts").iterdir()}
    assert named == left


def _crash_at(
    number: int, sharder: Callable, features: Path, tmp_path: Path, identity: str
) -> None:
    plan = CrashPlan(tmp_path / f"counter-{number}", number)
    with plan.armed(), pytest.raises(Crashed):
        sharder("run", features, *WORDS)
    _after_a_crash(sharder, features, identity)
    shutil.rmtree(tmp_path / "root" / "shards")


def test_a_crash_at_some_steps(sharder: Callable, features: Path, tmp_path: Path) -> None:
    """Every 23rd step, the first and the last ones."""
    count, identity = _steps(sharder, features, tmp_path)
    for number in sorted({*range(1, count + 1, 23), *range(count - 2, count + 1)}):
        _crash_at(number, sharder, features, tmp_path, identity)


@pytest.mark.slow
def test_a_crash_at_every_step(sharder: Callable, features: Path, tmp_path: Path) -> None:
    """All of them."""
    count, identity = _steps(sharder, features, tmp_path)
    assert count > 100
    for number in range(1, count + 1):
        _crash_at(number, sharder, features, tmp_path, identity)


def _killed_at(number: int, features: Path, tmp_path: Path, master: str = "inline") -> int:
    plan = CrashPlan(tmp_path / f"counter-{number}", number, "kill")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run", str(features), *WORDS, "--master", master],
        env={**os.environ, **plan.environment()},
        capture_output=True,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("part", [0.3, pytest.param(0.8, marks=pytest.mark.slow)])
def test_a_killed_process_leaves_what_a_rerun_takes_up(
    sharder: Callable, features: Path, tmp_path: Path, part: float
) -> None:
    """SIGKILL, in a process of its own."""
    count, identity = _steps(sharder, features, tmp_path)
    assert -9 == _killed_at(round(count * part), features, tmp_path)
    _after_a_crash(sharder, features, identity)


@pytest.mark.slow
def test_a_process_killed_at_every_seventh_step(
    sharder: Callable, features: Path, tmp_path: Path
) -> None:
    """SIGKILL all along."""
    count, identity = _steps(sharder, features, tmp_path)
    for number in range(1, count + 1, 7):
        assert -9 == _killed_at(number, features, tmp_path)
        _after_a_crash(sharder, features, identity)
        shutil.rmtree(tmp_path / "root" / "shards")


def test_a_crash_of_the_second_try_too(sharder: Callable, features: Path, tmp_path: Path) -> None:
    """Killed, rerun, killed again: the third try finishes what both left."""
    count, identity = _steps(sharder, features, tmp_path)
    for number in (count // 3, count // 4):
        plan = CrashPlan(tmp_path / f"counter-{number}", number)
        with plan.armed(), pytest.raises(Crashed):
            sharder("run", features, *WORDS)
    _after_a_crash(sharder, features, identity)
