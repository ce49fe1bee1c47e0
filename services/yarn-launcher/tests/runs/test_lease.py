import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audioloom_stage.errors import TryAgain
from audioloom_storage import locate, publish
from audioloom_yarn_launcher.monitoring.failure_report import facts_of
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.runs import lease
from audioloom_yarn_launcher.runs.attempts import (
    AttemptEnd,
    AttemptMembers,
    begin,
    publish_record,
    read_attempts,
)
from audioloom_yarn_launcher.runs.lease import Recovered, acquire, recover, wait_for_turn
from audioloom_yarn_launcher.runs.request import read_run_spec
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.settings import RunSettings
from structlog.testing import capture_logs


def answered(root: Path, command: tuple[str, ...], **more: str) -> list[str]:
    """What is said when a command is given whose run is committed."""
    asked = RunSettings.model_validate({"root": str(root), "command": ("true", *command), **more})
    spec = read_run_spec(asked).model_copy(update={"wait": False})
    begin(spec.location, spec.attempt(1))
    publish(spec.manifest, b"{}")
    with capture_logs() as logs:
        assert None is acquire(spec)
    return [str(line["event"]) for line in logs]


def test_an_answer_says_that_masked_words_were_not_compared(tmp_path: Path) -> None:
    """A run that was named, and a word that may be a setting: its record does not show which."""
    (said,) = answered(tmp_path, ("-p", "0.5"), name="named")
    assert "what is masked was not compared" in said


@pytest.mark.parametrize(
    ("command", "name"),
    [(("-p", "0.5"), {}), (("--password=x",), {"name": "a"}), (("-x", "0.5"), {"name": "b"})],
    ids=["its name tells", "a password", "nothing masked"],
)
def test_another_answer_says_nothing(
    tmp_path: Path, command: tuple[str, ...], name: dict[str, str]
) -> None:
    """Nothing that counts is left out of the comparison."""
    assert [] == answered(tmp_path, command, **name)


@pytest.fixture
def launch(tmp_path: Path) -> RunSpec:
    return RunSpec(
        name="r", folder=locate(tmp_path).uri, command=("train",), on="yarn", launch="a" * 32
    )


def allowing(launch: RunSpec, restarts: int) -> RunSpec:
    return launch.model_copy(update={"max_restarts": restarts})


def begun(launch: RunSpec, number: int = 1, **ended: Any) -> None:
    """An attempt, with an end if one is given."""
    started = launch.attempt(number)
    assert begin(launch.location, started)
    if ended:
        common = {"attempt": number, "generation": number - 1, "launch": launch.launch}
        times = {"started": started.started, "ended": started.started}
        publish_record(launch.location, AttemptEnd(**common, **times, **ended))


def test_the_first_coordinator_finds_nothing(launch: RunSpec) -> None:
    """Attempts of other launches are not its business."""
    assert Recovered() == recover(launch)
    other = launch.model_copy(update={"launch": "another"})
    begun(other)
    assert Recovered() == recover(launch)
    assert read_attempts(launch.location)[0].ended is None


def test_what_was_left_open_is_closed_and_counts_as_a_restart(launch: RunSpec) -> None:
    """As long as there are any: over all coordinators, not anew for each."""
    begun(launch)
    assert Recovered(attempts=1) == recover(launch)
    (first,) = read_attempts(launch.location)
    assert first.ended is not None
    assert ("launcher-lost", True) == (getattr(first.ended.cause, "kind", ""), first.ended.restarts)
    begun(launch, 2)
    legacy = recover(launch)
    assert (2, True) == (legacy.attempts, legacy.over)
    assert legacy.cause is not None
    assert ("launcher-lost", 75) == (legacy.cause.kind, legacy.cause.exit_code)
    last = read_attempts(launch.location)[-1]
    assert not last.open


def test_the_end_of_the_application_is_not_that_of_a_master_that_was_lost_before(
    launch: RunSpec, answers: Callable[[int, object], None]
) -> None:
    """The run went on, and ended well: that is no cause of anything."""
    owner = launch.attempt(1).owner.model_copy(update={"application": "application_1_1"})
    begin(launch.location, launch.attempt(1).model_copy(update={"owner": owner}))
    answers(200, {"app": {"state": "FINISHED", "diagnostics": "exit 0: the run is over"}})
    recover(launch)
    (first,) = read_attempts(launch.location)
    case = facts_of(launch.location, first, {}, lost=False)
    assert case.cause is not None
    assert ("", "launcher-lost") == (case.outside, case.cause.kind)


def test_what_has_ended_is_ended_in_the_same_way(launch: RunSpec) -> None:
    """YARN starts another master after a failure too: it has nothing to do but to say so."""
    begun(launch, outcome="failed", exit_code=3, restarts=True)
    assert Recovered(attempts=1) == recover(allowing(launch, 5))
    told = Cause("exit", "it hurts", 65, 1, tail="ouch")
    begun(launch, 2, outcome="failed", exit_code=65, cause=told)
    cause = Cause("exit", "it hurts", 65, 1, tail="ouch")
    assert Recovered(attempts=2, over=True, cause=cause) == recover(allowing(launch, 5))
    ordered = Cause("interrupted", "the launcher got SIGTERM", 143)
    begun(launch, 3, outcome="interrupted", exit_code=143, cause=ordered)
    interrupted = recover(allowing(launch, 5)).cause
    assert interrupted is not None
    assert "interrupted" == interrupted.kind
    begun(launch, 4, outcome="finished", exit_code=0)
    assert Recovered(attempts=4, over=True) == recover(allowing(launch, 5))


def test_the_time_that_a_lost_master_s_gang_worked_is_used_up(
    launch: RunSpec, tmp_path: Path
) -> None:
    """The limit counts from when its first gang was complete, not anew with each master."""
    begun(launch)
    publish_record(launch.location, AttemptMembers(attempt=1, formed="", workers=()))
    membership = tmp_path / "attempts/1.members.json"
    before = membership.stat().st_mtime - 3600
    os.utime(membership, (before, before))
    assert 3600 <= recover(launch).executed_s < 7200


def test_what_is_committed_is_no_loss(launch: RunSpec, tmp_path: Path) -> None:
    """The claim that follows finds the manifest."""
    begun(launch)
    (tmp_path / "manifest.json").write_text("{}")
    assert Recovered(attempts=1) == recover(allowing(launch, 0))
    assert read_attempts(launch.location)[0].ended is None


def test_who_was_seen_lives_on_while_the_resource_manager_is_silent(
    launch: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that fails over answers again a moment later."""
    monkeypatch.setattr(lease, "LOOK_AGAIN_S", 0.0)
    answers: list[bool | None] = [True, None, None, False]
    monkeypatch.setattr(lease, "is_alive", lambda _: answers.pop(0))
    begun(launch)
    assert 2 == wait_for_turn(launch)
    assert [] == answers


def test_an_application_of_which_nothing_is_known_is_not_another_machine(
    launch: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody needs to look there: the ResourceManager did not answer."""
    monkeypatch.setattr(lease, "is_alive", lambda _: None)
    begun(launch)
    with pytest.raises(TryAgain, match="was begun elsewhere"):
        wait_for_turn(launch)
    owner = launch.attempt(2).owner.model_copy(update={"application": "application_1_1"})
    begin(launch.location, launch.attempt(2).model_copy(update={"owner": owner}))
    with pytest.raises(TryAgain, match="the ResourceManager does not tell"):
        wait_for_turn(launch)
    assert 3 == wait_for_turn(launch.model_copy(update={"take_over": 2}))
