"""Whether another application may fare better than one that has ended; no cluster is asked."""

from pathlib import Path

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.rendezvous.roles import of_workers
from audioloom_yarn_launcher.runs import termination
from audioloom_yarn_launcher.runs.attempts import (
    Attempt,
    AttemptEnd,
    begin,
    publish_record,
    read_attempts,
)
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.runs.termination import ApplicationEnd, was_lost
from audioloom_yarn_launcher.yarn.skein_client import Report


@pytest.fixture(autouse=True)
def no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows the application's last words."""
    monkeypatch.setattr(termination, "last_words", lambda _: "")


def ended(
    diagnostics: str, attempts: tuple[Attempt, ...] = (), stopped_by: int = 0
) -> ApplicationEnd:
    return ApplicationEnd(
        "application_1_1", Report("FAILED", diagnostics, ""), attempts, stopped_by
    )


@pytest.mark.parametrize(
    ("diagnostics", "lost"),
    [
        ("Container released on a *lost* node", True),
        ("AM Container for a exited with exitCode: 137", True),
        ("ApplicationMaster for attempt a timed out", True),
        ("", True),
        ("exit 75: worker 0 was lost", False),  # the coordinator has said so, and tried
        ("exit 65: bad data", False),
        ("Application a was killed by user u", False),
        ("1.2 GB of 1 GB physical memory used", False),  # it would be again
        ("Invalid resource request", False),
        ("bin/java: No such file or directory", False),
        ("Download and unpack failed", False),
    ],
)
def test_only_what_nobody_wanted_and_would_not_repeat_is_submitted_again(
    diagnostics: str, lost: bool
) -> None:
    """Whether or not an attempt was begun."""
    assert lost is was_lost(ended(diagnostics))
    assert not was_lost(ended(diagnostics, stopped_by=2))


def test_what_is_on_record_as_ended_is_not_submitted_again(tmp_path: Path) -> None:
    """Unless it was to be started anew, or nothing is said of its end."""
    folder = locate(tmp_path)
    life = RunSpec(name="r", folder=folder.uri, command=("train",), on="yarn")
    started = life.attempt(1)
    begin(folder, started)
    assert was_lost(ended("", tuple(read_attempts(folder))))
    common = {"attempt": 1, "generation": 0, "launch": life.launch, "started": started.started}
    publish_record(
        folder, AttemptEnd(**common, ended=started.started, outcome="failed", exit_code=3)
    )
    assert not was_lost(ended("", tuple(read_attempts(folder))))


def test_another_application_is_another_launch_of_the_same_run(tmp_path: Path) -> None:
    """Its restarts count anew, and its processes carry another mark."""
    roles = of_workers(2, chief=True)
    life = RunSpec(
        name="r", folder=locate(tmp_path).uri, command=("train",), roles=roles, on="yarn"
    )
    again = life.relaunched(0.0)
    assert life.launch != again.launch
    assert (life.name, life.roles) == (again.name, again.roles)
