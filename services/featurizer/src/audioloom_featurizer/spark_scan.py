"""What `scan` does in Spark, on demand. Starts Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from audioloom_spark import SparkSettings, run_units, spark_session, yarn_of
from audioloom_storage import Location


@contextmanager
def spark_runner(settings: SparkSettings, root: Location) -> Iterator[Callable[..., Iterator[Any]]]:
    """What does each piece in a Spark task of its own; one session serves for several rounds.

    Args:
        settings: where.
        root: what the run lies under.
    """
    yarn = yarn_of(settings, root)
    with spark_session("audioloom-featurizer", settings.master, yarn=yarn) as session:
        yield partial(run_units, session)
