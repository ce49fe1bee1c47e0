"""A storage that cannot be relied on: records are whole and right, or the launch says why not."""

import os
from typing import Any

import pytest
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import NoSpace, Unavailable, UnknownOutcome, locate
from audioloom_storage_testing import UnreliableStore
from audioloom_yarn_launcher.runs.attempts import read_attempts

HOOK = "from audioloom_storage_testing import install_from_environment as i\ni()\n"
TOLD = {exit_code(kind("")) for kind in (Unavailable, NoSpace, UnknownOutcome)}
SEEDS = range(3)


def run(launches: Any, store: UnreliableStore) -> tuple[int, str, str]:
    """Run a gang of one on this store; exit code, stdout, stderr."""
    hook = launches.folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(HOOK)
    environment = {**os.environ, **store.environment(), "PYTHONPATH": str(hook)}
    words = ("run", "--root", str(launches.root), "--name", "run", "--", "/bin/echo", "done")
    code, out, err = launches.run(*words, env=environment)
    return code, out, err


def check(launches: Any, seed: int, among: int) -> bool:
    """Launch on it, then again on a sound one; whether the first launch came through."""
    launches.root = launches.folder / f"root-{seed}"
    store = UnreliableStore(launches.folder / f"store-{seed}", seed, among)
    code, _, err = run(launches, store)
    assert code in {0, *TOLD}, f"{err}\n{store.log}"
    records = launches.root / "runs" / "run" / "attempts"
    before = {path: path.read_bytes() for path in records.glob("[0-9]*.json")}
    again, out, err = run(launches, UnreliableStore(launches.folder / "spare", 0, 0))
    assert 0 == again, f"{err}\n{store.log}"
    attempts = read_attempts(locate(out))
    assert "finished" == attempts[-1].ended.outcome, store.log
    assert all(attempt.ended is not None for attempt in attempts), store.log
    assert before == {path: path.read_bytes() for path in before}, store.log
    return code == 0


def test_a_launch_comes_through_or_says_why_and_comes_through_then(launches: Any) -> None:
    """Whatever fails, lies or stays silent: no record is changed, and the next launch finishes."""
    counted = UnreliableStore(launches.folder / "count", 0, 0)
    assert 0 == run(launches, counted)[0]
    assert counted.requests > 12
    came_through = [check(launches, seed, counted.requests) for seed in SEEDS]
    assert not all(came_through)  # or the faults met nothing


ONCE = """
import audioloom_yarn_launcher.coordinator.supervisor as module
from audioloom_storage import Unavailable
publish_record, calls = module.publish_record, []
def fail_once(folder, record):
    calls.extend([record] if record.kind == "attempt" else [])
    if calls == [record]:
        raise Unavailable("no answer (a fault of the test)", where=folder)
    publish_record(folder, record)
module.publish_record = fail_once
"""


def test_an_end_that_was_not_taken_is_recorded_again(launches: Any) -> None:
    """Or an attempt that another followed would stay open in the records for ever."""
    (launches.folder / "sitecustomize.py").write_text(ONCE)
    marker = launches.folder / "tried"
    command = f"test -e {marker} || {{ touch {marker}; exit 3; }}"
    words = ("run", "--root", str(launches.root), "--name", "run", "--", "/bin/sh", "-c", command)
    environment = {**os.environ, "PYTHONPATH": str(launches.folder)}
    code, out, err = launches.run(*words, env=environment)
    assert 0 == code, err
    ends = [attempt.ended and attempt.ended.outcome for attempt in read_attempts(locate(out))]
    assert ["failed", "finished"] == ends


@pytest.mark.slow
def test_a_hundred_more(launches: Any) -> None:
    """The long form."""
    counted = UnreliableStore(launches.folder / "count", 0, 0)
    assert 0 == run(launches, counted)[0]
    for seed in range(len(SEEDS), 100):
        check(launches, seed, counted.requests)
