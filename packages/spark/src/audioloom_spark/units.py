"""Run work units as Spark tasks, and return their answers as they finish."""

from __future__ import annotations

import os
import pickle
import queue
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from audioloom_stage import StageError

from audioloom_spark.applications import diagnostics
from audioloom_spark.diagnostics import missing_module, reason
from audioloom_spark.errors import SparkGaveUp
from audioloom_spark.locality import Locality, placed
from audioloom_spark.worker_gc import freeze_modules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


class UnitFailedError(Exception):
    """A unit failed with an error that could not be pickled; this error holds its text."""


@dataclass(frozen=True)
class _Failure:
    error: BaseException


@dataclass(frozen=True)
class _Answer:
    """The message of a task: the unit, the host, and the answer or a failure."""

    number: int
    host: str
    value: Any


def run_units(
    session: SparkSession,
    units: Sequence[Unit],
    task: Callable[[Unit], Answer],
    *,
    hosts: Sequence[Sequence[str]] | None = None,
    locality: Locality | None = None,
) -> Iterator[Answer]:
    """Run *task* on every unit, one Spark task each; yield the answers in order of finishing.

    Spark's own iterators either wait for all tasks or run one at a time. Answers travel in an
    accumulator instead: Spark adds the updates of each task to it exactly once, when the task ends.

    Args:
        session: from `spark_session`.
        units: what the tasks work on; pickled.
        task: runs in the Python workers; pickled by cloudpickle.
        hosts: for each unit, the preferred hosts; see `block_hosts`.
        locality: counts the units that ran on a preferred host.

    Raises:
        Exception: the error of the first failing unit, once Spark has spent its retries; the other
            tasks are cancelled. Closing the iterator early cancels them too.
        ModuleMissing: the workers cannot import what a unit needs to begin.
        TryAgain: Spark itself ended the work, as when a worker was killed.
    """
    if not units:
        return
    from pyspark import InheritableThread  # noqa: PLC0415

    context = session.sparkContext
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    answers = context.accumulator(_Inbox(inbox), _answers_parameter())
    group = f"audioloom-{uuid.uuid4().hex}"
    tries = _tries(session)
    preferred = [tuple(each) for each in hosts] if hosts is not None else [()] * len(units)

    def work(pieces: Iterable[tuple[int, Unit]]) -> None:
        for number, unit in pieces:
            # YARN tells each container its node, by the name that Spark and HDFS know.
            where = os.environ.get("NM_HOST", "")
            answers.add([_Answer(number, where, _attempt(task, unit, tries))])
        freeze_modules()

    def job() -> None:
        # The group is a property of the thread that starts the job.
        context.setJobGroup(group, "audioloom units", interruptOnCancel=False)
        try:
            pieces = list(zip(enumerate(units), preferred, strict=True))
            placed(session, pieces).foreachPartition(work)
            inbox.put(_DONE)
        except Exception as error:  # noqa: BLE001 - whatever Spark says goes to the caller
            inbox.put(_Failure(_gave_up(error, session)))

    thread = InheritableThread(target=job, name="audioloom-units", daemon=True)
    thread.start()
    try:
        yield from _answers(inbox, preferred, locality or Locality())
    finally:
        if thread.is_alive():
            context.cancelJobGroup(group)
        thread.join()


_DONE = object()


def _answers(
    inbox: queue.SimpleQueue[Any], preferred: Sequence[tuple[str, ...]], locality: Locality
) -> Iterator[Any]:
    while (answer := inbox.get()) is not _DONE:
        value = answer
        if isinstance(answer, _Answer):
            value = answer.value
            if preferred[answer.number]:
                locality.units += 1
                locality.local += answer.host in preferred[answer.number]
        if isinstance(value, _Failure):
            raise value.error
        yield value


class _Inbox:
    """The driver's side of the accumulator: a queue. In a task the value is a plain list."""

    def __init__(self, inbox: queue.SimpleQueue[Any]) -> None:
        self.inbox = inbox


def _answers_parameter() -> Any:
    from pyspark.accumulators import AccumulatorParam  # noqa: PLC0415

    class Answers(AccumulatorParam[Any]):  # type: ignore[misc]  # pyspark is not analysed
        def zero(self, value: Any) -> list[Any]:  # noqa: ARG002 - a task starts from nothing
            return []

        def addInPlace(self, value1: Any, value2: list[Any]) -> Any:  # noqa: N802 - Spark's name
            if isinstance(value1, list):
                value1.extend(value2)
            else:
                for answer in value2:
                    value1.inbox.put(answer)
            return value1

    return Answers()


def _attempt(task: Callable[[Unit], Answer], unit: Unit, tries: int) -> Answer | _Failure:
    """Run a unit. Before the last try an error goes to Spark, which retries, perhaps elsewhere."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    try:
        return task(unit)
    except Exception as error:
        if context is not None and context.attemptNumber() + 1 < tries:
            raise
        return _Failure(_travelling(error))


def _gave_up(error: Exception, session: SparkSession) -> StageError:
    """Return Spark's long message as one sentence; errors of units do not come this way."""
    text = str(error)
    context: Any = session.sparkContext
    reported: StageError | None = missing_module(text)
    if reported is None and context.master == "yarn":
        tag = context.getConf().get("spark.yarn.tags", "")
        yarn_diagnostics = diagnostics(context._jvm, tag)  # noqa: SLF001 - the way to Java
        reported = reason(f"{yarn_diagnostics}\n{text}")
    if reported is None:
        said = _REASON.search(text) or _FIRST_LINE.search(text)
        reported = SparkGaveUp(
            "Spark gave up",
            found=said[1][:300] if said else type(error).__name__,
            hint="If a worker was killed, memory may be short. Finished units are not done again.",
        )
    reported.__cause__ = error
    return reported


_REASON = re.compile(r"most recent failure: .*?(?:Exception|Error): ([^\n]+?)(?:\. |\n|$)")
_FIRST_LINE = re.compile(r"^([^\n]+)")


def _travelling(error: Exception) -> Exception:
    try:
        same = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - any failure means that it cannot travel
        same = False
    return error if same else UnitFailedError(f"{type(error).__name__}: {error}")


def _tries(session: SparkSession) -> int:
    """Return how often Spark runs a task: once on a local master, else `spark.task.maxFailures`."""
    master = session.sparkContext.master
    if master.startswith("local") and "," not in master:
        return 1
    return int(session.sparkContext.getConf().get("spark.task.maxFailures", "4") or "4")
