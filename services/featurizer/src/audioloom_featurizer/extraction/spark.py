"""Where units are done: as Spark tasks, each in a process that is watched. Starts Spark."""

from __future__ import annotations

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
from audioloom_featurizer.sandbox.supervisor import Limits, do_supervised

#: What a worker takes beside the process that it watches; half of it was measured.
WORKER_BYTES = 96 << 20
#: With less, good recordings would be refused too.
LEAST_BYTES = 256 << 20


def fitting(limits: Limits, yarn: Yarn | None) -> Limits:
    """The limits, with no more memory than YARN lets a task have before it ends the container."""
    if yarn is None:
        return limits
    fits = max(LEAST_BYTES, yarn.task_memory - WORKER_BYTES)
    return replace(limits, memory=min(limits.memory, fits))


def in_spark(
    units: Sequence[Unit],
    task: Callable[..., Any],
    *,
    limits: Limits,
    settings: SparkSettings,
    root: Location,
    largest: Callable[[Sequence[Unit]], Sequence[Sequence[Location]]],
    counts: dict[str, int],
) -> Iterator[Any]:
    """Do each unit in a Spark task of its own; answers come as they finish.

    Closing the iterator cancels what runs and ends the session.

    Args:
        units: what to do.
        task: does one; see `do_supervised`.
        limits: what the process that does it may take.
        settings: where.
        root: what the run lies under.
        largest: for each unit, the recordings that decide where it had better be done.
        counts: told how many units ran where their blocks lie, on a cluster.
    """
    yarn = yarn_of(settings, root)
    limits = fitting(limits, yarn)
    locality = Locality()
    with spark_session("audioloom-featurizer", settings.master, yarn=yarn) as session:
        hosts = None if yarn is None else block_hosts(session, largest(units))
        work = partial(do_supervised, pickle.dumps(task), limits)
        pickled = [pickle.dumps(unit) for unit in units]
        with closing(
            run_units(session, pickled, work, hosts=hosts, locality=locality)  # type: ignore[type-var]
        ) as answers:
            for answer in answers:
                # Told before the answer: the last one may be the last that is asked for.
                if locality.units:
                    counts.update(units_placed=locality.units, units_local=locality.local)
                yield pickle.loads(answer)  # noqa: S301 - from our own process
