from __future__ import annotations

import copy
import pickle

import pytest
from audioloom_stage.errors import BadData, StageError, Usage


class OneBadLine(BadData):
    def __init__(self, line: int) -> None:
        super().__init__(expected="a number", found="nothing", where=f"line {line}", hint="add one")
        self.line = line


def test_the_text_says_where_what_and_what_to_do() -> None:
    """An error that nobody formats still says everything in one line."""
    error = BadData("cannot read it", expected="a", found="b", where="/x", hint="Do it")
    assert "/x: cannot read it: expected a, found b. Do it" == str(error)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Usage("no such thing"), "no such thing"),
        (Usage(expected="3", found=4), "expected 3, found 4"),
        (Usage(found=4, where="--x"), "--x: found 4"),
        (Usage(), ""),
    ],
)
def test_parts_that_are_missing_leave_no_trace(error: StageError, text: str) -> None:
    """No dangling colons or commas."""
    assert text == str(error)


@pytest.mark.parametrize("copied", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])  # noqa: S301
def test_errors_cross_process_borders_whole(copied: object) -> None:
    """A Spark task's error arrives with its class, its fields and those a stage added."""
    error = copied(OneBadLine(7))  # type: ignore[operator]
    assert (OneBadLine, 7, str(OneBadLine(7))) == (type(error), error.line, str(error))
