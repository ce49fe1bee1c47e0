from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_storage import locate
from audioloom_yarn_launcher.commands.logs import show_logs
from audioloom_yarn_launcher.commands.status import show_status
from audioloom_yarn_launcher.errors import BadRecord, NoRun
from audioloom_yarn_launcher.monitoring.run_status import read_run_status
from audioloom_yarn_launcher.runs.application import ApplicationEnd, close_record
from audioloom_yarn_launcher.runs.attempts import (
    AttemptEnd,
    AttemptStarted,
    begin,
    publish_record,
    read_attempts,
)
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process
from audioloom_yarn_launcher.runs.submissions import Submission, read_submissions, record_submission
from audioloom_yarn_launcher.settings import LogsSettings, StatusSettings
from audioloom_yarn_launcher.yarn.resource_manager import Application

Answers = Callable[[int, object], None]

ACCEPTED = {
    "state": "ACCEPTED",
    "diagnostics": "[Sat Nov 21 19:06:17 +0000 2026] Application is added to the scheduler and is"
    " not yet activated. Queue's AM resource limit exceeded.  Details : AM Partition = <X>;",
}
WHY = (
    "Application is added to the scheduler and is not yet activated. Queue's AM resource limit"
    " exceeded"
)


def says(state: str, diagnostics: str = "") -> object:
    return {"app": {"state": state, "diagnostics": diagnostics}}


def submit(
    folder: Path, launch: str = "a" * 32, at: str = "2026-01-01T00:00:02.000Z", after: int = 0
) -> None:
    submission = Submission(
        launch=launch,
        application=f"application_1_{launch[0]}",
        submitted=at,
        after_attempt=after,
        size=2,
        command=("train",),
        by=this_process(),
    )
    record_submission(locate(folder), submission)


def attempt(folder: Path, launch: str, at: str) -> None:
    """An attempt that has failed."""
    common = {"attempt": 1, "generation": 0, "launch": launch, "started": at}
    begun = {"on": "yarn", "size": 2, "command": ("train",), "working_folder": "/"}
    begin(locate(folder), AttemptStarted(**common, **begun, owner=this_process()))
    publish_record(locate(folder), AttemptEnd(**common, ended=at, outcome="failed", exit_code=3))


def test_what_waits_is_said_to_wait_and_why(tmp_path: Path, answers: Answers) -> None:
    """By `status`, and by `logs`, which has nothing to show yet."""
    submit(tmp_path)
    answers(200, {"app": ACCEPTED})
    status = show_status(StatusSettings(run=str(tmp_path)))
    assert "state        waiting" in status.text
    assert f"because      {WHY}" in status.text
    assert 0 == status.exit_code
    expected = {
        "id": "application_1_a",
        "submitted": "2026-01-01T00:00:02.000Z",
        "state": "ACCEPTED",
        "because": WHY,
    }
    assert expected == status.data["application"]
    logs = show_logs(LogsSettings(run=str(tmp_path)))
    assert (0, []) == (logs.exit_code, list(logs.text))


@pytest.mark.parametrize(
    ("code", "answer", "state", "because"),
    [
        (404, {}, "lost", "knows nothing of it"),
        (401, {}, "unknown", "does not tell"),
        (200, says("RUNNING"), "waiting", "its coordinator begins"),
        (200, says("KILLED", "was killed by user x"), "interrupted", "somebody"),
        (200, says("FAILED", "bin/java: not found"), "failed", "no Java"),
        (200, says("FINISHED", "exit 77: no"), "failed", "no"),
        (200, says("ACCEPTED"), "waiting", "gives no reason"),
    ],
)
def test_the_state_before_the_first_attempt_is_the_application_s(
    tmp_path: Path, answers: Answers, code: int, answer: object, state: str, because: str
) -> None:
    """As far as the ResourceManager tells."""
    submit(tmp_path)
    answers(code, answer)
    view = read_run_status(locate(tmp_path))
    assert state == view.state
    assert view.pending is not None
    assert because in view.pending.because
    if view.over:
        with pytest.raises(NoRun, match="there is no log of any worker:"):
            show_logs(LogsSettings(run=str(tmp_path)))


def test_what_has_begun_or_is_older_than_the_last_attempt_waits_no_more(
    tmp_path: Path, answers: Answers
) -> None:
    """The state is the attempt's then; of a newer one that failed, the page tells beside.

    What is newer the numbers say: the clock of the attempt's machine is a day ahead here.
    """
    submit(tmp_path)
    answers(200, {"app": ACCEPTED})
    attempt(tmp_path, "a" * 32, "2026-01-02T00:00:00.000Z")
    submit(tmp_path, "b" * 32, "2026-01-03T00:00:00.000Z")
    view = read_run_status(locate(tmp_path))
    assert ("failed", None) == (view.state, view.pending)
    submit(tmp_path, "c" * 32, "2026-01-01T00:00:06.000Z", after=1)
    assert "waiting" == read_run_status(locate(tmp_path)).state
    answers(200, {"app": {"state": "FAILED", "diagnostics": "no such luck"}})
    view = read_run_status(locate(tmp_path))
    assert "failed" == view.state
    assert view.pending is not None
    assert "no such luck" in view.pending.because


def test_the_reason_of_a_coordinator_is_its_run_s_if_it_recorded_none(tmp_path: Path) -> None:
    """It may have been unable to write, and told only YARN why; and so what YARN itself tells."""
    for number, told, code, cause in (
        (1, "exit 77: no right to write", 77, "no right to write (application_1_a FAILED)"),
        (2, "", 75, "the application ended, and did not say why (application_1_a FAILED: no "),
    ):
        common = {"attempt": number, "generation": number - 1, "launch": "a" * 32}
        begun = {"on": "yarn", "size": 2, "command": ("train",), "working_folder": "/"}
        owner = this_process()
        started = AttemptStarted(**common, **begun, started=now(), owner=owner)
        begin(locate(tmp_path), started)
        attempts = read_attempts(locate(tmp_path))
        ending = ApplicationEnd("application_1_a", Application("FAILED", told), attempts)
        found = close_record(locate(tmp_path), ending)
        assert found is not None
        assert (code, True) == (found.exit_code, found.text.startswith(cause))
        last = read_attempts(locate(tmp_path))[-1].ended
        assert last is not None
        assert code == last.exit_code


def test_what_was_committed_does_not_wait(tmp_path: Path, answers: Answers) -> None:
    """Whatever was submitted."""
    submit(tmp_path)
    answers(200, {"app": ACCEPTED})
    (tmp_path / "manifest.json").write_text("{}")
    assert "committed" == read_run_status(locate(tmp_path)).state


def test_the_newest_is_first_and_a_broken_one_is_named(tmp_path: Path) -> None:
    """Names that are not ours are passed over."""
    assert [] == read_submissions(locate(tmp_path), set())
    submit(tmp_path, "a" * 32, "2026-01-01T00:00:01.000Z")
    submit(tmp_path, "b" * 32, "2026-01-01T00:00:02.000Z")
    (tmp_path / "submissions/other.json").write_text("x")
    found = read_submissions(locate(tmp_path), set())
    assert ["b" * 32, "a" * 32] == [each.launch for each in found]
    assert ["a" * 32] == [each.launch for each in read_submissions(locate(tmp_path), {"b" * 32})]
    (tmp_path / f"submissions/{'c' * 32}.json").write_text("x")
    with pytest.raises(BadRecord, match="cccc"):
        read_submissions(locate(tmp_path), set())
