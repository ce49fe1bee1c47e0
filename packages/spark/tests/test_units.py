"""Units without a Spark that works: what is told when its Java has ended."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from audioloom_spark import units
from audioloom_spark.units import run_units
from audioloom_stage.errors import TryAgain
from py4j.protocol import Py4JNetworkError

GONE = [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "refused")]


def session_without_java(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    """A session on YARN whose Java ends with this error once there is work."""

    def gone(*_: object) -> Any:
        raise error

    monkeypatch.setattr(units, "placed", gone)
    session = MagicMock()
    session.sparkContext.master = "yarn"
    session.sparkContext.getConf = Mock(
        side_effect=[MagicMock(get=lambda *_: "4"), error]  # the tries of a task, then no more
    )
    session.sparkContext.cancelJobGroup = gone
    return session


@pytest.mark.parametrize("error", GONE)
def test_java_that_ended_on_yarn_is_worth_another_try(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Nobody waits for what it cannot say any more."""
    with pytest.raises(TryAgain, match="Spark gave up"):
        list(run_units(session_without_java(monkeypatch, error), [1], abs))


@pytest.mark.parametrize("error", GONE)
def test_java_that_ended_before_the_job_is_worth_another_try(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The job has no group yet."""
    session = session_without_java(monkeypatch, error)
    session.sparkContext.setJobGroup.side_effect = error
    with pytest.raises(TryAgain, match="Spark gave up"):
        list(run_units(session, [1], abs))


def test_an_answer_that_was_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark only logs that it could not hand an answer over, and ends the job as done."""
    monkeypatch.setattr(units, "placed", MagicMock())
    with pytest.raises(TryAgain, match="expected 2 answers, found 0"):
        list(run_units(MagicMock(), [1, 2], abs))
