"""The power is cut at a step of storage, whoever takes it; then the same command again."""

import os
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import locate
from audioloom_storage_testing import CrashPlan
from audioloom_yarn_launcher.runs.attempts import read_attempts

HOOK = "from audioloom_storage_testing import install_from_environment as i\ni()\n"
NEVER = 10_000


def run(launches: Any, at: int, counter: Path) -> tuple[int, str]:
    """Run a gang of one with the power cut at this step; exit code and stdout."""
    hook = launches.folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(HOOK)
    plan = CrashPlan(counter, at, "kill").environment()
    environment = {**os.environ, **plan, "PYTHONPATH": str(hook)}
    words = ("run", "--root", str(launches.root), "--", "/bin/echo", "done")
    code, out, _ = launches.run(*words, env=environment)
    return code, out


def cut_and_run_again(launches: Any, steps: range) -> None:
    for at in steps:
        counter = launches.folder / f"counter-{at}"
        root = launches.folder / f"root-{at}"
        launches.root = root
        assert -9 == run(launches, at, counter)[0], at
        code, out = run(launches, NEVER, launches.folder / "spare")
        assert 0 == code, at
        attempts = read_attempts(locate(out))
        assert "finished" == attempts[-1].ended.outcome, at
        assert all(attempt.ended is not None for attempt in attempts), at


def count_steps(launches: Any) -> int:
    """The steps of a run that is left alone."""
    counter = launches.folder / "counted"
    assert 0 == run(launches, NEVER, counter)[0]
    return counter.stat().st_size


def test_a_cut_here_and_there_leaves_what_the_next_run_can_use(launches: Any) -> None:
    """At every eighth step; every one is in the long form."""
    count = count_steps(launches)
    assert count > 12
    cut_and_run_again(launches, range(2, count + 1, 8))


@pytest.mark.slow
def test_a_cut_at_any_step_leaves_what_the_next_run_can_use(launches: Any) -> None:
    """Whatever had been written by then, and whoever wrote it."""
    cut_and_run_again(launches, range(1, count_steps(launches) + 1))
