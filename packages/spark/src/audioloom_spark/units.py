"""Run work units as Spark tasks, and return their answers as they finish."""

from __future__ import annotations

import gc
import os
import pickle
import queue
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import structlog
from audioloom_stage.errors import BadConfiguration, StageError, TryAgain

from audioloom_spark.application_errors import missing_module, reason
from audioloom_spark.applications import diagnostics
from audioloom_spark.locality import placed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_FAILED = 10
"""Failed units after which the others have little hope."""

_SHOWN = 300  # letters of an error

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")

log = structlog.get_logger()


class UnitFailedError(Exception):
    """A unit failed with an error that could not be pickled; this error holds its text."""


@dataclass(frozen=True)
class _Answer:
    """The message of a task: the unit, the host, and the answer or an error."""

    number: int
    host: str
    value: Any
    error: Exception | None


_Inbox: TypeAlias = "queue.SimpleQueue[_Answer | StageError | None]"
"""Answers, or why Spark gave up; None is the end."""


def run_units(
    session: SparkSession,
    units: Sequence[Unit],
    task: Callable[[Unit], Answer],
    *,
    hosts: Sequence[Sequence[str]] | None = None,
    counts: dict[str, int] | None = None,
) -> Iterator[Answer]:
    """Run *task* on every unit, one Spark task each; yield the answers in order of finishing.

    Spark's own iterators either wait for all tasks or run one at a time. Answers travel in an
    accumulator instead: Spark adds the updates of each task to it exactly once, when the task ends.

    A unit that fails does not end the others, whose work would be lost: its error comes at the end.

    Args:
        session: from `spark_session`.
        units: what the tasks work on; pickled.
        task: runs in the Python workers; pickled by cloudpickle.
        hosts: for each unit, the preferred hosts; see `block_hosts`.
        counts: receives `units_placed`, the units with preferred hosts, and of these `units_local`,
            the units whose answer was made on one.

    Raises:
        Exception: the error of the first failing unit, once Spark has spent its retries and the
            other tasks have ended, or `MOST_FAILED` failed too: then the others are cancelled.
            Closing the iterator early cancels them, too.
        BadConfiguration: no unit can succeed, such as without a library; the others are cancelled.
        TryAgain: Spark itself ended the work, as when a worker was killed, or lost an answer.
    """
    if not units:
        return
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import InheritableThread  # noqa: PLC0415

    context = session.sparkContext
    inbox: _Inbox = queue.SimpleQueue()
    answers = context.accumulator(inbox, _answers_parameter())
    group = f"audioloom-{uuid.uuid4().hex}"
    tries = _tries(session)
    preferred = [tuple(each) for each in hosts] if hosts is not None else [()] * len(units)

    def work(pieces: Iterable[tuple[int, Unit]]) -> None:
        for number, unit in pieces:
            # YARN tells each container its node, by the name that Spark and HDFS know.
            where = os.environ.get("NM_HOST", "")
            answers.add([_Answer(number, where, *_attempt(task, unit, tries))])
        freeze_modules()

    def job() -> None:
        try:
            # The group is a property of the thread that starts the job.
            context.setJobGroup(group, "audioloom units", interruptOnCancel=False)
            pieces = list(zip(enumerate(units), preferred, strict=True))
            placed(session, pieces).foreachPartition(work)
            inbox.put(None)
        except Exception as error:  # noqa: BLE001 - whatever Spark says goes to the caller
            inbox.put(_gave_up(error, session))

    thread = InheritableThread(target=job, name="audioloom-units", daemon=True)
    thread.start()
    try:
        yield from _answers(inbox, preferred, {} if counts is None else counts)
    finally:
        if thread.is_alive():
            with suppress(Py4JError, OSError):  # a Spark that has ended has no jobs left
                context.cancelJobGroup(group)
        thread.join()


def _answers(
    inbox: _Inbox, preferred: Sequence[tuple[str, ...]], counts: dict[str, int]
) -> Iterator[Any]:
    errors: list[Exception] = []
    arrived = 0
    while (answer := inbox.get()) is not None:
        if isinstance(answer, StageError):
            raise answer
        arrived += 1
        if preferred[answer.number]:
            local = answer.host in preferred[answer.number]
            counts["units_placed"] = counts.get("units_placed", 0) + 1
            counts["units_local"] = counts.get("units_local", 0) + local
        if answer.error is None:
            yield answer.value
            continue
        if isinstance(answer.error, BadConfiguration):
            raise answer.error
        errors.append(answer.error)
        if len(errors) == MOST_FAILED:
            break
        log.warning("a unit failed; the others go on", error=str(answer.error)[:_SHOWN])
    if errors:
        raise errors[0]
    if arrived < len(preferred):  # Spark only logs that it could not update an accumulator
        raise TryAgain(
            "Spark lost answers of units",
            expected=f"{len(preferred)} answers",
            found=arrived,
            hint="Run the same command again: finished units are not done again.",
        )


def _answers_parameter() -> Any:
    from pyspark.accumulators import AccumulatorParam  # noqa: PLC0415

    class Answers(AccumulatorParam[Any]):  # type: ignore[misc]  # pyspark is not analysed
        """The value is the queue in the driver, and a list in a task."""

        def zero(self, value: Any) -> list[Any]:  # noqa: ARG002 - a task starts from nothing
            return []

        def addInPlace(self, value1: Any, value2: list[Any]) -> Any:  # noqa: N802 - Spark's name
            if isinstance(value1, list):
                value1.extend(value2)
            else:
                for answer in value2:
                    value1.put(answer)
            return value1

    return Answers()


def _attempt(
    task: Callable[[Unit], Answer], unit: Unit, tries: int
) -> tuple[Answer | None, Exception | None]:
    """Run a unit. Before the last try an error goes to Spark, which retries, perhaps elsewhere."""
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    try:
        return task(unit), None
    except Exception as error:
        if context is not None and context.attemptNumber() + 1 < tries:
            raise
        return None, _travelling(error)


def _gave_up(error: Exception, session: SparkSession) -> StageError:
    """Return Spark's long message as one sentence; errors of units do not come this way."""
    from py4j.protocol import Py4JError  # noqa: PLC0415

    context: Any = session.sparkContext
    text = ""
    reported: StageError | None = None
    try:
        text = str(error)
        reported = missing_module(text)
        if reported is None and context.master == "yarn":
            tag = context.getConf().get("spark.yarn.tags", "")
            yarn_diagnostics = diagnostics(context._jvm, tag)  # noqa: SLF001 - the way to Java
            reported = reason(f"{yarn_diagnostics}\n{text}")
    except (Py4JError, OSError):  # it is asked even for the text of its error
        text = text or "Spark's Java process has ended"
    if reported is None:
        said = _REASON.search(text) or _FIRST_LINE.search(text)
        reported = TryAgain(
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


_known = 0  # modules


def freeze_modules() -> None:
    """Keep imported modules out of the garbage collection of Spark's Python workers.

    Spark collects all garbage after each task. Over what pyspark, NumPy and PyArrow import that is
    some 50 ms of processor time, which is more than a small unit takes. Done only where modules
    were imported since the last call: an object that is alive now is never collected any more.
    """
    global _known  # noqa: PLW0603 - one worker, one process
    if len(sys.modules) != _known:
        _known = len(sys.modules)
        gc.collect()
        gc.freeze()
