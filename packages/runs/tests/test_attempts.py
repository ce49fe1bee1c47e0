from __future__ import annotations

import platform
from datetime import timedelta

from audioloom_manifest.envelope import Execution
from audioloom_runs.attempts import new_attempt, seconds_of


def test_an_attempt_tells_who_and_with_what() -> None:
    """The stage's version, the machine, and of the libraries those that are installed."""
    made = new_attempt(
        "stage",
        {"executors": 2, "jdbc_password": "hunter2"},
        libraries=("pydantic", "librosa-that-is-not-there"),
        versions={"tensorflow": "2.21.0"},
    )
    assert ("stage", platform.node()) == (made.producer.stage, made.host)
    assert {"python", "machine", "pydantic", "tensorflow"} == set(made.versions)
    assert {"executors": 2, "jdbc_password": "**********"} == made.settings


def test_the_wall_time_is_that_of_all_attempts() -> None:
    """Where it was measured; else the last attempt is all that is known."""
    ended = new_attempt("stage", {}).execution()
    times = {"started": ended.started, "finished": ended.started + timedelta(seconds=7)}
    last = Execution(attempt="a", **times)
    assert 7 == seconds_of(last)
    assert 40 == seconds_of(last.model_copy(update={"seconds": {"steps": 30.0, "restart": 10.0}}))
