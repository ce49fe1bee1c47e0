from __future__ import annotations

import errno

import pytest
from audioloom_stage._error_report import report, tell
from audioloom_stage.errors import BadData
from audioloom_stage.exit_codes import ExitCode, exit_code


def told(error: BaseException) -> dict[str, str]:
    return tell(error, exit_code(error), "audioloom-toy")


def test_a_library_error_still_says_what_and_where() -> None:
    """With the file name out of the way of the sentence."""
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "/x")
    assert {"error": "no such file or directory", "where": "/x"} == told(error)


def test_a_full_disk_says_what_to_do() -> None:
    """The one mistake that is nobody's."""
    assert "make room" in told(OSError(errno.ENOSPC, "No space left on device", "/x"))["try"]


def test_an_error_without_words() -> None:
    """Its class is better than nothing."""
    assert {"error": "try again: TimeoutError"} == told(TimeoutError())
    assert {"error": "bad data"} == told(BadData())


def test_out_of_memory() -> None:
    """Which is not a bug, and has a remedy."""
    assert {"error", "try"} == set(told(MemoryError()))


def test_a_module_that_cannot_be_imported_is_the_installation_s() -> None:
    """It is named, with the place that asked for it: to start again would not help."""
    with pytest.raises(ImportError) as caught:
        import audioloom_that_is_not_there  # type: ignore[import-not-found]  # noqa: F401
    assert ExitCode.CONFIGURATION == exit_code(caught.value)
    found = told(caught.value)
    assert "ModuleNotFoundError: No module named 'audioloom_that_is_not_there'" == found["found"]
    assert __file__ in found["where"]
    assert {"error", "where", "found", "try"} == set(found)


def test_texts_from_outside_are_bounded() -> None:
    """A megabyte of somebody's XML must not bury the message."""
    assert 2000 == len(told(BadData(found="x" * 10**6))["found"])


def test_errors_of_other_packages_are_told_by_their_parts() -> None:
    """Storage and manifest errors carry the same words, without sharing a base class."""
    from audioloom_manifest.errors import WrongKind
    from audioloom_storage.errors import NotFound

    wrong = WrongKind(where="/m", expected="features", found="shards", hint="run it on features")
    assert {
        "error": "bad data",
        "where": "/m",
        "expected": "features",
        "found": "shards",
        "try": "run it on features",
    } == told(wrong)
    missing = NotFound("nothing lies there", where="/m")
    assert {"error": "input missing", "where": "/m", "found": "nothing lies there"} == told(missing)


def test_lines_of_a_long_text_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    """So that the words on the left stay a column."""
    code = report(
        BadData("x", found="one\ntwo"), program="audioloom-toy", debug=False, as_json=False
    )
    assert ExitCode.BAD_DATA == code
    assert "error: x\n  found  one\n         two\n" == capsys.readouterr().err


def test_an_error_is_told_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does the traceback show them, or what a terminal would obey."""
    error = BadData("\x1b[2J", found="https://me:hunter2@h/", hint="--token hunter2")
    report(error, program="toy", debug=True, as_json=False)
    told = capsys.readouterr().err
    assert "https://me:**********@h/" in told
    assert not any(each in told for each in ("hunter2", "\x1b"))
