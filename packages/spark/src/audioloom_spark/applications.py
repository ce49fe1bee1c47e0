"""Ask YARN about our application through Spark's own JVM, which supports Kerberos too.

An application is found by its tag, which is set before YARN gives the application a name.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any

import structlog
from audioloom_storage.deadline import within

log = structlog.get_logger()

_SECONDS = 60.0  # a busy machine takes its time, and the JVM ends afterwards
_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 15.0
_AGAIN_SECONDS = 60.0
_TIME = re.compile(r"^\[[^\]]*\] *")


@contextmanager
def warn_while_waiting(tag: str) -> Iterator[None]:
    """Warn while Spark waits for YARN in the block, and say what it waits for.

    The warning comes after some seconds and then each minute: a full queue is no error, and an
    executor may take a while to be unpacked.
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
        return _waiting(jvm, tag)
    if len(java.sc().statusTracker().getExecutorInfos()) > 1:  # the driver is one of the executors
        return {}
    return {
        "event": "waiting: no executor, YARN gives none or its node is still unpacking",
        "application": context.applicationId,
        "queue": context.getConf().get("spark.yarn.queue", "default"),
    }


def _waiting(jvm: Any, tag: str) -> dict[str, str]:
    """Return a log line on the application that waits for its master to start; empty if none."""
    with _client(jvm) as client:
        for report in _tagged(jvm, client, tag):
            if str(report.getYarnApplicationState()) in ("SUBMITTED", "ACCEPTED"):
                says = " ".join(str(report.getDiagnostics() or "").split())
                return {
                    "event": "waiting: YARN has not started the application yet",
                    "application": str(report.getApplicationId()),
                    "queue": str(report.getQueue()),
                    "yarn_says": _TIME.sub("", says),
                }
    return {}


def end(jvm: Any, tag: str) -> None:
    """Kill the running applications of this tag; ignore errors, and report what is left.

    The kill has its own thread, because a call of this thread may have been interrupted, and Java's
    next answer here would be the answer to that call. Another Ctrl-C ends the wait.
    """

    def kill() -> None:
        with _client(jvm) as client:
            for report in _tagged(jvm, client, tag):
                if str(report.getFinalApplicationStatus()) == "UNDEFINED":
                    client.killApplication(report.getApplicationId())

    try:
        within(_SECONDS, kill)
    except Exception:  # noqa: BLE001 - whatever kept it from ending
        log.warning(
            "YARN did not say that it ended the application: it may start yet, for nobody",
            tag=tag,
            end_it="yarn application -list -appTags TAG, then yarn application -kill ID",
        )


def diagnostics(jvm: Any, tag: str) -> str:
    """Return YARN's diagnostics, also after Spark has lost the application; empty if none.

    They are not waited for long: a client of YARN asks a cluster that is down for 15 minutes.
    """

    def ask() -> str:
        with _client(jvm) as client:
            found = [report.getDiagnostics() for report in _tagged(jvm, client, tag)]
            return "\n".join(str(said) for said in found if said)

    try:
        return within(_SECONDS, ask)
    except Exception:  # noqa: BLE001 - it only explains an error that is reported anyway
        return ""


@contextmanager
def _client(jvm: Any) -> Iterator[Any]:
    hadoop = jvm.org.apache.hadoop
    client = hadoop.yarn.client.api.YarnClient.createYarnClient()
    client.init(hadoop.yarn.conf.YarnConfiguration(hadoop.conf.Configuration()))
    client.start()
    try:
        yield client
    finally:
        client.stop()


def _tagged(jvm: Any, client: Any, tag: str) -> list[Any]:
    protocol = jvm.org.apache.hadoop.yarn.api.protocolrecords
    request = protocol.GetApplicationsRequest.newInstance()
    tags = jvm.java.util.HashSet()
    tags.add(tag)
    request.setApplicationTags(tags)
    return list(client.getApplications(request))
