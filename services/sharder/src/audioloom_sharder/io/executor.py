"""Run units in Spark tasks or in this process. No other module starts Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog
from audioloom_storage import Location, Unavailable

if TYPE_CHECKING:
    from audioloom_spark.settings import SparkSettings
    from pyspark.sql import SparkSession

log = structlog.get_logger()

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


class RunUnits(Protocol):
    """Run a task on every unit; the answers come in the order in which units finish.

    On a cluster a unit with a `location` runs near the blocks of that file.
    """

    def __call__(self, units: Sequence[Unit], task: Callable[[Unit], Answer]) -> Iterator[Answer]:
        """Run the task on every unit."""


@contextmanager
def executor(
    settings: SparkSettings, root: Location, counts: dict[str, int] | None = None
) -> Iterator[RunUnits]:
    """Open an executor: ``inline`` is this process, else a Spark master.

    The first unit starts Spark, so a run whose work is already done never pays for it.

    On a cluster, *counts* receives the number of units that ran on a node with their blocks.
    """
    if settings.master == "inline":
        yield lambda units, task: map(partial(_retry_once, task), units)
        return
    with ExitStack() as stack:
        session: list[SparkSession] = []

        def run(units: Sequence[Unit], task: Callable[[Unit], Answer]) -> Iterator[Answer]:
            if not units:
                return
            # The imports take half a second, which `--help` and a finished run need not spend.
            from audioloom_spark.locality import block_hosts  # noqa: PLC0415
            from audioloom_spark.session import spark_session  # noqa: PLC0415
            from audioloom_spark.units import run_units  # noqa: PLC0415

            if not session:
                started = spark_session("audioloom-sharder", settings, root)
                session.append(stack.enter_context(started))
            hosts = None
            places = [[unit.location] for unit in units if hasattr(unit, "location")]
            if settings.master == "yarn" and places:
                hosts = block_hosts(session[0], places)
            patient = partial(_retry_once, task)
            yield from run_units(session[0], units, patient, hosts=hosts, counts=counts)

        yield run


def _retry_once(task: Callable[[Unit], Answer], unit: Unit) -> Answer:
    """Run a unit, and run it again when storage was unavailable.

    A retry is safe because nothing counts before the receipt. Spark retries on a cluster, but
    neither in this process nor with `local[*]`.
    """
    try:
        return task(unit)
    except Unavailable as error:
        log.warning("retrying a unit of work after a storage failure", found=str(error))
        return task(unit)
