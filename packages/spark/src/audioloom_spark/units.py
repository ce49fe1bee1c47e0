"""Run work units as Spark tasks; their answers come back as they finish."""

from __future__ import annotations

import pickle
import queue
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from audioloom_stage import TryAgain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


class UnitFailedError(Exception):
    """A unit failed with an error that could not travel from the task as itself; its text."""


@dataclass(frozen=True)
class _Failure:
    """What a task sends back in place of an answer."""

    error: BaseException


def run_units(
    session: SparkSession, units: Sequence[Unit], task: Callable[[Unit], Answer]
) -> Iterator[Answer]:
    """Run *task* on every unit, one Spark task each; yield the answers in order of finishing.

    Spark's own iterators either wait for all tasks or run one at a time. Answers travel in an
    accumulator instead: Spark adds the updates of each task to it exactly once, when the task ends.

    Args:
        session: from `spark_session`.
        units: what the tasks work on; pickled.
        task: runs in the Python workers; pickled by cloudpickle.

    Raises:
        Exception: what the first failing unit raised, once Spark has spent its retries; the other
            tasks are cancelled. Closing the iterator early cancels them too.
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

    def work(slice_of_units: Iterable[Unit]) -> None:
        for unit in slice_of_units:
            answers.add([_attempt(task, unit, tries)])

    def job() -> None:
        # The group is a property of the thread that starts the job.
        context.setJobGroup(group, "audioloom units", interruptOnCancel=False)
        try:
            context.parallelize(units, numSlices=len(units)).foreachPartition(work)
            inbox.put(_DONE)
        except Exception as error:  # noqa: BLE001 - whatever Spark says goes to the caller
            inbox.put(_Failure(_gave_up(error)))

    thread = InheritableThread(target=job, name="audioloom-units", daemon=True)
    thread.start()
    try:
        while (answer := inbox.get()) is not _DONE:
            if isinstance(answer, _Failure):
                raise answer.error
            yield answer
    finally:
        if thread.is_alive():
            context.cancelJobGroup(group)
        thread.join()


_DONE = object()


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
    """Do a unit. Before the last try an error is Spark's, which tries again, maybe elsewhere."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    try:
        return task(unit)
    except Exception as error:
        if context is not None and context.attemptNumber() + 1 < tries:
            raise
        return _Failure(_travelling(error))


def _gave_up(error: Exception) -> TryAgain:
    """What Spark says at length, in a sentence; a unit's own errors do not come this way."""
    reason = _REASON.search(str(error)) or _FIRST_LINE.search(str(error))
    told = TryAgain(
        "Spark gave up",
        found=reason[1][:300] if reason else type(error).__name__,
        hint="If a worker was killed, memory may be short. Finished units are not done again.",
    )
    told.__cause__ = error
    return told


_REASON = re.compile(r"most recent failure: .*?(?:Exception|Error): ([^\n]+?)(?:\. |\n|$)")
_FIRST_LINE = re.compile(r"^([^\n]+)")


def _travelling(error: Exception) -> Exception:
    """The error itself when it survives pickling, or else its text."""
    try:
        same = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - any failure means that it cannot travel
        same = False
    return error if same else UnitFailedError(f"{type(error).__name__}: {error}")


def _tries(session: SparkSession) -> int:
    """How often Spark runs a task: once on a local master, else `spark.task.maxFailures`."""
    master = session.sparkContext.master
    if master.startswith("local") and "," not in master:
        return 1
    return int(session.sparkContext.getConf().get("spark.task.maxFailures", "4") or "4")
