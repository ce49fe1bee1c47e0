from __future__ import annotations

import platform

from audioloom_runs.attempts import new_attempt


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
