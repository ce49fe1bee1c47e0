"""Process units as Spark tasks in supervised workers. Importing this module imports Spark."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from audioloom_spark.locality import block_hosts
from audioloom_spark.session import spark_session
from audioloom_spark.settings import SparkSettings
from audioloom_spark.units import run_units
from audioloom_storage import Location

from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised

SUPERVISOR_BYTES = 96 << 20
"""Memory of the supervising process, beside that of its worker; half of it was measured."""

LEAST_BYTES = 256 << 20
"""With less, good recordings would be refused too."""


def limits_for_yarn(limits: WorkerLimits, settings: SparkSettings) -> WorkerLimits:
    """Keep the memory limit below the memory at which YARN kills a task's container."""
    if settings.master != "yarn":
        return limits
    fits = max(LEAST_BYTES, settings.task_memory - SUPERVISOR_BYTES)
    return replace(limits, memory=min(limits.memory, fits))


def extract_in_spark(
    units: Sequence[Unit],
    task: Callable[..., Any],
    limits: WorkerLimits,
    settings: SparkSettings,
    root: Location,
    counts: dict[str, int],
) -> Iterator[Any]:
    """Process each unit in a Spark task; yield the results as the tasks finish.

    Closing the iterator cancels the running tasks and ends the session. On a cluster, the blocks of
    the largest recordings of a unit decide on which node it runs, and *counts* receives the number
    of units that ran there. See `run_supervised` for the task.
    """
    limits = limits_for_yarn(limits, settings)
    with spark_session("audioloom-featurizer", settings, root) as session:
        hosts = None
        if settings.master == "yarn":
            hosts = block_hosts(session, [unit.largest for unit in units])
        work = partial(run_supervised, pickle.dumps(task), limits)
        pickled = [pickle.dumps(unit) for unit in units]
        with closing(
            run_units(session, pickled, work, hosts=hosts, counts=counts)  # type: ignore[type-var]
        ) as answers:
            for answer in answers:
                yield pickle.loads(answer)  # noqa: S301 - from our own process
