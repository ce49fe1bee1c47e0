"""Report that Spark waits for YARN, which Spark itself does silently."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any

import structlog

from audioloom_spark import applications

log = structlog.get_logger()

_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 15.0
_AGAIN_SECONDS = 60.0


@contextmanager
def warn_while_waiting(tag: str) -> Iterator[None]:
    """Warn while Spark waits for YARN in the block, and say what it waits for.

    The warning comes after some seconds and then each minute: a full queue is no error, and an
    executor may take a while to be unpacked.

    Args:
        tag: the tag of the application.
    """
    over = threading.Event()
    # In a copy of the context, which holds what is bound to log lines, such as the run.
    thread = threading.Thread(
        target=copy_context().run, args=(_watch, tag, over), name="spark-waiting", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=_PATIENCE_SECONDS)


def _watch(tag: str, over: threading.Event) -> None:
    last, say_at = None, 0.0
    while not over.wait(_POLL_SECONDS):
        told: dict[str, Any] = {}
        with suppress(Exception):  # Spark starts or ends just now and reports its errors itself
            told = _waited_for(tag)
        if told.get("event") != last:
            last, say_at = told.get("event"), time.monotonic() + _PATIENCE_SECONDS
        elif told and time.monotonic() >= say_at and not over.is_set():
            log.warning(**told)
            say_at = time.monotonic() + _AGAIN_SECONDS


def _waited_for(tag: str) -> dict[str, Any]:
    """Return a log line; nothing where Spark is at work, or has not come so far."""
    from pyspark import SparkContext  # noqa: PLC0415 - a second of import, after the checks

    jvm: Any = SparkContext._jvm  # noqa: SLF001 - the way to Java
    context: Any = SparkContext._active_spark_context  # noqa: SLF001 - it may just be starting
    java = getattr(context, "_jsc", None)
    if jvm is None:
        return {}
    if java is None:
        return applications.waiting(jvm, tag)
    if len(java.sc().statusTracker().getExecutorInfos()) > 1:  # the driver is one of the executors
        return {}
    return {
        "event": "waiting: no executor, YARN gives none or its node is still unpacking",
        "application": context.applicationId,
        "queue": context.getConf().get("spark.yarn.queue", "default"),
    }
