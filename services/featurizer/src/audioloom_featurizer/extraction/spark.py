"""Do units as Spark tasks, each in a supervised worker. Importing this module imports Spark."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from audioloom_spark import (
    Locality,
    SparkSettings,
    Yarn,
    block_hosts,
    run_units,
    spark_session,
    yarn_of,
)
from audioloom_storage import Location

from audioloom_featurizer.extraction.partition import Unit
from audioloom_featurizer.sandbox.supervisor import WorkerLimits, run_supervised

SUPERVISOR_BYTES = 96 << 20
"""Memory of the supervising process, beside that of its worker; half of it was measured."""

LEAST_BYTES = 256 << 20
"""With less, good recordings would be refused too."""


def limits_for_yarn(limits: WorkerLimits, yarn: Yarn | None) -> WorkerLimits:
    """The limits, with no more memory than YARN allows a task before it kills the container."""
    if yarn is None:
        return limits
    fits = max(LEAST_BYTES, yarn.task_memory - SUPERVISOR_BYTES)
    return replace(limits, memory=min(limits.memory, fits))


def extract_in_spark(
    units: Sequence[Unit],
    task: Callable[..., Any],
    *,
    limits: WorkerLimits,
    settings: SparkSettings,
    root: Location,
    largest: Callable[[Sequence[Unit]], Sequence[Sequence[Location]]],
    counts: dict[str, int],
) -> Iterator[Any]:
    """Do each unit in a Spark task; answers come as the tasks finish.

    Closing the iterator cancels the running tasks and ends the session.

    Args:
        units: the units.
        task: does one; see `run_supervised`.
        limits: what a worker may take.
        settings: where Spark runs.
        root: the root that the run lies under.
        largest: for each unit, the recordings that decide on which node it is done.
        counts: on a cluster, receives how many units ran where their blocks lie.
    """
    yarn = yarn_of(settings, root)
    limits = limits_for_yarn(limits, yarn)
    locality = Locality()
    with spark_session("audioloom-featurizer", settings.master, yarn=yarn) as session:
        hosts = None if yarn is None else block_hosts(session, largest(units))
        work = partial(run_supervised, pickle.dumps(task), limits)
        pickled = [pickle.dumps(unit) for unit in units]
        with closing(
            run_units(session, pickled, work, hosts=hosts, locality=locality)  # type: ignore[type-var]
        ) as answers:
            for answer in answers:
                # Before the answer: nobody may ask for another one after the last.
                if locality.units:
                    counts.update(units_placed=locality.units, units_local=locality.local)
                yield pickle.loads(answer)  # noqa: S301 - from our own process
