"""Ask YARN about our application through Spark's own JVM, which supports Kerberos too.

An application is found by its tag, which is set before YARN gives the application a name.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog

log = structlog.get_logger()

_SECONDS = 60.0  # a busy machine takes its time, and the JVM ends afterwards
_TIME = re.compile(r"^\[[^\]]*\] *")


def waiting(jvm: Any, tag: str) -> dict[str, str]:
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
    done = threading.Event()

    def work() -> None:
        with suppress(Exception), _client(jvm) as client:
            for report in _tagged(jvm, client, tag):
                if str(report.getFinalApplicationStatus()) == "UNDEFINED":
                    client.killApplication(report.getApplicationId())
            done.set()

    thread = threading.Thread(target=work, name="spark-end", daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if not done.is_set():
        log.warning(
            "YARN did not say that it ended the application: it may start yet, for nobody",
            tag=tag,
            end_it="yarn application -list -appTags TAG, then yarn application -kill ID",
        )


def diagnostics(jvm: Any, tag: str) -> str:
    """Return YARN's diagnostics, also after Spark has lost the application; empty if none."""
    try:
        with _client(jvm) as client:
            found = [report.getDiagnostics() for report in _tagged(jvm, client, tag)]
            return "\n".join(str(said) for said in found if said)
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
