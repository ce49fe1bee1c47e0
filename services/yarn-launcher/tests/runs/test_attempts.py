import os
from pathlib import Path
from typing import Any

import pytest
from audioloom_storage import UnknownOutcome, locate
from audioloom_yarn_launcher.errors import BadRecord
from audioloom_yarn_launcher.runs import attempts
from audioloom_yarn_launcher.runs.attempts import (
    AttemptEnd,
    AttemptMembers,
    AttemptStarted,
    begin,
    executed_s,
    publish_record,
    read_attempts,
)
from audioloom_yarn_launcher.runs.layout import now
from audioloom_yarn_launcher.runs.process_identity import this_process


def started(launch: str = "one", number: int = 1) -> AttemptStarted:
    return AttemptStarted(
        attempt=number,
        generation=0,
        launch=launch,
        started=now(),
        on="local",
        size=1,
        command=("train",),
        working_folder="/",
        owner=this_process(),
    )


def ended(text: str) -> AttemptEnd:
    return AttemptEnd(
        attempt=1,
        generation=0,
        launch=text,
        started=now(),
        ended=now(),
        outcome="finished",
        exit_code=0,
    )


def test_an_attempt_has_one_owner(tmp_path: Path) -> None:
    """Who comes second is told so, and what the first wrote stays."""
    folder = locate(tmp_path)
    assert begin(folder, started("one"))
    assert not begin(folder, started("two"))
    assert ["one"] == [attempt.started.launch for attempt in read_attempts(folder)]


def no_answer(where: Any, _: bytes) -> None:
    """As a storage fails of which nobody knows whether it has published."""
    raise UnknownOutcome("no answer (a fault of the test)", where=where)


@pytest.mark.parametrize(("there", "expected"), [("one", True), ("two", False)])
def test_without_an_answer_an_attempt_is_whose_record_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, expected: bool
) -> None:
    """Or two launchers would be at work, or none."""
    folder = locate(tmp_path)
    begin(folder, started(there))
    monkeypatch.setattr(attempts, "publish", no_answer)
    assert expected == begin(folder, started("one"))


def test_without_an_answer_and_a_record_nobody_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may yet appear: whoever asked must not work."""
    monkeypatch.setattr(attempts, "publish", no_answer)
    with pytest.raises(UnknownOutcome):
        begin(locate(tmp_path), started())


def test_what_was_worked_is_told_by_the_clock_of_the_storage(tmp_path: Path) -> None:
    """Whatever the records' own times; who was never complete, or still works, counts nothing."""
    folder = locate(tmp_path)
    assert 0 == executed_s(folder, [])
    for number in (1, 2, 3):
        begin(folder, started(number=number))
    for number in (1, 3):
        publish_record(
            folder, AttemptMembers(attempt=number, formed="2000-01-01T00:00:00Z", workers=())
        )
    for number in (1, 2):
        publish_record(folder, ended("one").model_copy(update={"attempt": number}))
    for name, at in (("1.members", 100), ("1", 130), ("2", 500), ("3.members", 600)):
        os.utime(tmp_path / f"attempts/{name}.json", (at, at))
    assert 30 == executed_s(folder, read_attempts(folder))


def test_the_first_word_on_an_end_stands(tmp_path: Path) -> None:
    """A launcher that was declared lost and ends after all does not rewrite history."""
    folder = locate(tmp_path)
    begin(folder, started())
    publish_record(folder, ended("first"))
    publish_record(folder, ended("second"))
    (attempt,) = read_attempts(folder)
    assert attempt.ended is not None
    assert "first" == attempt.ended.launch


def test_attempts_are_read_in_order_of_their_numbers(tmp_path: Path) -> None:
    """Ten comes after nine, and what is no record is passed over."""
    folder = locate(tmp_path)
    assert [] == read_attempts(folder)
    for number in (10, 9, 1):
        begin(folder, started(number=number))
    (tmp_path / "attempts/readme.json").write_text("{}")
    assert [1, 9, 10] == [attempt.started.attempt for attempt in read_attempts(folder)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "Invalid JSON"),
        ('{"version": "1.0", "attempt": 1}', "Field required"),
        ('{"version": "2.0"}', "2.0 needs the release"),
        ("[]", "an object"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, text: str, found: str) -> None:
    """With what is wrong with it."""
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts/1.started.json").write_text(text)
    with pytest.raises(BadRecord, match=found) as raised:
        read_attempts(locate(tmp_path))
    assert "1.started.json" in raised.value.where


def test_a_newer_minor_version_is_read(tmp_path: Path) -> None:
    """What it adds is passed over."""
    folder = locate(tmp_path)
    begin(folder, started())
    path = tmp_path / "attempts/1.started.json"
    newer = path.read_text().replace('"1.0"', '"1.7"').replace("{", '{"mood": "good",', 1)
    path.write_text(newer)
    assert 1 == len(read_attempts(folder))
