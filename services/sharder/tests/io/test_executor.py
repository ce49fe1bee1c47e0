"""Where units of work run, and what becomes of one that storage failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from audioloom_sharder.io.executor import executor
from audioloom_sharder.settings import PlanSettings
from audioloom_storage import NotFound, StorageError, Unavailable, locate

SETTINGS = PlanSettings(features=("nowhere",), master="inline")


Task = Callable[[int], int]


def failing(times: int, error: Callable[..., StorageError], seen: list[int]) -> Task:
    """A task that fails so often, and notes each unit that it is asked for."""

    def task(unit: int) -> int:
        seen.append(unit)
        if len(seen) <= times:
            raise error("the cluster failed while the file was written", where="hdfs://a/b")
        return 10 * unit

    return task


def run(task: Task) -> list[int]:
    """The answers of two units."""
    with executor(SETTINGS, locate("/nowhere")) as run_units:
        return list(run_units([1, 2], task))


@pytest.mark.parametrize(("times", "error"), [(2, Unavailable), (1, NotFound)])
def test_what_goes_on_failing_is_told(times: int, error: Any) -> None:
    """A second failure of storage, and the first of any other kind."""
    seen: list[int] = []
    with pytest.raises(error):
        run(failing(times, error, seen))
    assert [1] * times == seen


def test_a_unit_that_storage_failed_is_done_again() -> None:
    """Once, and the run goes on as if nothing had been."""
    seen: list[int] = []
    assert [10, 20] == run(failing(1, Unavailable, seen))
    assert [1, 1, 2] == seen
