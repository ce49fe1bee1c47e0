"""Waiting for an application, with a cluster of this process that never starts any."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage.errors import TryAgain
from audioloom_stage.exit_codes import exit_code
from audioloom_storage import Unavailable, locate
from audioloom_yarn_launcher.errors import ApplicationLost
from audioloom_yarn_launcher.monitoring import application_watch
from audioloom_yarn_launcher.monitoring.application_watch import ApplicationWatch
from audioloom_yarn_launcher.rendezvous.messages import Stop
from audioloom_yarn_launcher.runs.application import end_application
from audioloom_yarn_launcher.runs.attempts import AttemptStarted, begin
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.system.interrupts import SignalState
from audioloom_yarn_launcher.yarn.resource_manager import Application
from audioloom_yarn_launcher.yarn.scheduling import NOT_TOLD, NOTHING_ASKED
from structlog.testing import capture_logs


@dataclass
class Full:
    """A cluster whose queue is full."""

    killed: list[str] = field(default_factory=list)

    def report(self, application: str) -> Application:
        state = "KILLED" if application in self.killed else "ACCEPTED"
        return Application(state, "[Sat] Queue's AM resource limit exceeded. Details : …")

    def stop(self, application: str, stop: object) -> None:
        raise ApplicationLost("it has no master")

    def kill(self, application: str) -> None:
        self.killed.append(application)


@dataclass
class Begun:
    """A cluster on which an application runs, until nothing is left to say."""

    reasons: list[str]

    def report(self, _application: str) -> Application:
        return Application("RUNNING" if self.reasons else "FINISHED", "")


@pytest.mark.parametrize("until_begun", [False, True])
def test_an_application_that_is_not_started_in_time_is_ended(
    tmp_path: Path, until_begun: bool
) -> None:
    """Whether somebody waits for its end or only for its beginning: try again, and why."""
    full: Any = Full()
    watch = ApplicationWatch(
        full, locate(tmp_path), "l", "application_1_1", SignalState(), start_s=0.001
    )
    with pytest.raises(TryAgain) as raised:
        watch.wait(until_begun=until_begun)
    assert ["application_1_1"] == full.killed
    assert 75 == exit_code(raised.value)
    assert "within 0.001 s (--timeout-start)" == raised.value.expected
    assert "ACCEPTED: Queue's AM resource limit exceeded" == raised.value.found


def test_without_a_limit_one_leaves_an_application_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--detach` has no reason to end it."""
    monkeypatch.setattr("audioloom_yarn_launcher.monitoring.application_watch.BEGIN_WITHIN_S", 0.01)
    full: Any = Full()
    assert (
        ApplicationWatch(full, locate(tmp_path), "l", "application_1_1", SignalState()).wait(
            until_begun=True
        )
        is None
    )
    assert [] == full.killed


@dataclass
class Ends:
    """A cluster whose application ends its run when it is told to, and gets another master."""

    states: list[str]
    did: list[str] = field(default_factory=list)

    def report(self, application: str) -> Application:
        state = "KILLED" if "kill" in self.did else self.states.pop(0)
        return Application(state, "")

    def stop(self, application: str, stop: object) -> None:
        self.did.append("stop")

    def kill(self, application: str) -> None:
        self.did.append("kill")


def test_another_master_is_not_waited_for_by_who_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would have nothing to do; and one that ends at once needs no killing."""
    monkeypatch.setattr("audioloom_yarn_launcher.runs.application.LOOK_EVERY_S", 0.001)
    stop = Stop(signal=2)
    again: Any = Ends(["RUNNING", "RUNNING", "ACCEPTED"])
    assert "KILLED" == end_application(again, "application_1_1", lambda: stop).state
    assert ["stop", "kill"] == again.did
    once: Any = Ends(["RUNNING", "FINISHED"])
    assert "FINISHED" == end_application(once, "application_1_1", lambda: stop).state
    assert ["stop"] == once.did


def test_each_signal_to_the_client_is_passed_on_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator adds them up with those of other clients."""
    monkeypatch.setattr("audioloom_yarn_launcher.runs.application.LOOK_EVERY_S", 0.0)
    cluster: Any = Ends(["RUNNING", "RUNNING", "FINISHED"])
    passed: list[int] = []
    monkeypatch.setattr(cluster, "stop", lambda _, stop: passed.append(stop.times))
    heard = iter([1, 1, 3])
    end_application(cluster, "application_1_1", lambda: Stop(signal=2, times=next(heard)))
    assert [1, 2] == passed


def test_the_limit_of_the_start_is_not_that_of_a_second_master(tmp_path: Path) -> None:
    """The run was started in time; the second one may take its own."""
    cluster: Any = Ends(["RUNNING", "ACCEPTED", "FINISHED"])
    watch = ApplicationWatch(
        cluster, locate(tmp_path), "l", "application_1_1", SignalState(), start_s=0.001
    )
    assert "FINISHED" == watch.wait().report.state
    assert [] == cluster.did


def test_what_containers_are_waited_for_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, and again when it is another reason; until the gang is complete."""
    monkeypatch.setattr(application_watch, "TELL_AFTER_S", 0.0)
    monkeypatch.setattr(application_watch, "FIRST_READ_S", 0.0)
    monkeypatch.setattr(application_watch, "LOOK_EVERY_S", 0.0)
    begun = AttemptStarted(
        attempt=1,
        generation=0,
        launch="l",
        started=now(),
        on="yarn",
        size=2,
        command=("train",),
        working_folder="/",
        owner=this_process(),
    )
    assert begin(locate(tmp_path), begun)
    reasons = ["no GPUs", "no GPUs", NOTHING_ASKED, "no memory", NOT_TOLD]
    monkeypatch.setattr(application_watch, "why_not_allocated", lambda *_, **__: reasons.pop(0))
    cluster: Any = Begun(reasons)
    with capture_logs() as logs:
        ApplicationWatch(cluster, locate(tmp_path), "l", "application_1_1", SignalState()).wait()
    assert ["no GPUs", "no memory"] == [each["because"] for each in logs if "because" in each]
    assert [] == reasons


def test_a_storage_that_is_away_for_a_while_ends_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on without its client; that its records cannot be read is told once."""
    monkeypatch.setattr(application_watch, "FIRST_READ_S", 0.0)
    monkeypatch.setattr(application_watch, "LOOK_EVERY_S", 0.0)
    away = ["for a while", "still"]

    def read_attempts(_: object) -> list[Any]:
        if away:
            raise Unavailable(away.pop(0))
        return []

    monkeypatch.setattr(application_watch, "read_attempts", read_attempts)
    cluster: Any = Ends(["RUNNING", "RUNNING", "RUNNING", "FINISHED"])
    watch = ApplicationWatch(cluster, locate(tmp_path), "l", "application_1_1", SignalState())
    with capture_logs() as logs:
        assert "FINISHED" == watch.wait().report.state
    assert ["for a while"] == [each["found"] for each in logs if "found" in each]
