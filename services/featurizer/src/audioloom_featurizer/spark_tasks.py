"""Where units are done: as Spark tasks. The only module that knows of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from audioloom_spark import run_units, spark_session

from audioloom_featurizer.units import Unit

Answer = TypeVar("Answer")


def in_spark(
    units: Sequence[Unit], task: Callable[[Unit], Answer], *, master: str
) -> Iterator[Answer]:
    """Do each unit in a Spark task of its own; answers come as they finish.

    Closing the iterator cancels what runs and ends the session.
    """
    with (
        spark_session("audioloom-featurizer", master) as session,
        closing(run_units(session, units, task)) as answers,  # type: ignore[type-var]  # a generator
    ):
        yield from answers
