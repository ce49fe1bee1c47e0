"""Where units run: Spark tasks, or this process. The one module that knows of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["INLINE", "RunUnits", "engine"]

log = structlog.get_logger()

INLINE = "inline"

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


class RunUnits(Protocol):
    """Run a task on every unit; the answers come as they finish, in any order."""

    def __call__(self, units: Sequence[Unit], task: Callable[[Unit], Answer]) -> Iterator[Answer]:
        """Answer for every unit."""


@contextmanager
def engine(master: str) -> Iterator[RunUnits]:
    """What runs units under *master*: ``inline`` for this process, else a Spark master.

    Spark is started by the first unit there is, so a run that finds all its work done never pays
    for it.
    """
    if master == INLINE:
        yield _inline
        return
    with ExitStack() as stack:
        session: list[SparkSession] = []

        def run(units: Sequence[Unit], task: Callable[[Unit], Answer]) -> Iterator[Answer]:
            if not units:
                return
            # Half a second of imports that `--help` and a finished run do without.
            from audioloom_spark import run_units, spark_session  # noqa: PLC0415

            if not session:
                log.info("starting Spark", master=master)
                session.append(stack.enter_context(spark_session("audioloom-sharder", master)))
            yield from run_units(session[0], units, task)

        yield run


def _inline(units: Sequence[Unit], task: Callable[[Unit], Answer]) -> Iterator[Answer]:
    return map(task, units)
