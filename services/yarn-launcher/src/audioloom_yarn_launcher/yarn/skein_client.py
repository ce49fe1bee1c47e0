"""The client of the cluster: skein's driver, a JVM that lives as long as it is needed."""

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from audioloom_hadoop.configuration import Hadoop
from audioloom_hadoop.yarn_diagnostics import Cause, diagnose

from audioloom_yarn_launcher.errors import (
    ApplicationLost,
    NoCluster,
    NotOffered,
    ResourceManagerDown,
)
from audioloom_yarn_launcher.rendezvous.limits import Resources
from audioloom_yarn_launcher.rendezvous.messages import STOP_KEY, Stop, encode
from audioloom_yarn_launcher.system import processes
from audioloom_yarn_launcher.system.files import text_of
from audioloom_yarn_launcher.yarn.application_errors import refused
from audioloom_yarn_launcher.yarn.configuration import check_programs, check_reachable
from audioloom_yarn_launcher.yarn.credentials import Login, own_key
from audioloom_yarn_launcher.yarn.resource_manager import Application
from audioloom_yarn_launcher.yarn.skein_application import import_skein

DRIVER_MEMORY = "-Xmx256m"
TAIL_CHARACTERS, MOST_LINES = 8192, 6
ANSWER_WITHIN_S = 15.0
_NOISE = re.compile(r"^\s*at |^\s*\.\.\. \d+ more|SLF4J| INFO |WARN util.NativeCodeLoader")
_JAVA_AGES = {Cause.OLD_JAVA: "old", Cause.NEW_JAVA: "new"}

log = structlog.get_logger()


class Cluster:
    """A `skein.Client` that starts a new driver when its driver is killed or frozen."""

    def __init__(self, start: Callable[[], Any], skein: Any, log: Path) -> None:
        self._start, self._skein, self._log = start, skein, log
        self._client = start()
        self._asks = ThreadPoolExecutor(1, "driver")

    def check_queue(self, name: str) -> None:
        """Refuse a queue that does not exist: NotOffered."""
        try:
            self._ask(lambda: self._client.get_queue(name))
        except (NotOffered, ApplicationLost):
            queues = self._ask(self._client.get_all_queues)
            raise NotOffered(
                "the cluster has no such queue",
                expected=" or ".join(sorted(queue.name for queue in queues)),
                found=name,
                hint="Give another --queue.",
            ) from None

    def nodes(self, label: str) -> dict[str, Resources]:
        """Return the resources of each running node that carries the label."""
        found = self._ask(lambda: self._client.get_nodes(states=["RUNNING"]))
        return {
            node.id: Resources(
                node.total_resources.memory, node.total_resources.vcores, node.total_resources.gpus
            )
            for node in found
            if not label or label in node.labels
        }

    def submit(self, description: Mapping[str, Any]) -> str:
        """Submit an application with its local files; return its id."""
        specification = self._skein.ApplicationSpec.from_dict(dict(description))
        submit = self._asks.submit(self._client.submit, specification)
        with self._refusing():  # never retried: YARN may have taken it already
            return str(submit.result())

    def report(self, application: str) -> Application:
        """Ask YARN for a report on an application."""
        found = self._ask(lambda: self._client.application_report(application))
        return Application(str(found.state), found.diagnostics or "")

    def stop(self, application: str, stop: Stop) -> None:
        """Ask the coordinator to end the run, once more than others have; or ApplicationLost."""

        def tell() -> None:
            with self._client.connect(application, wait=False) as master:
                before = master.kv.get(STOP_KEY)
                times = json.loads(before)["times"] if before else 0
                asked = replace(stop, times=times + stop.times)
                master.kv[STOP_KEY] = encode(asked).encode()

        self._ask(tell)

    def kill(self, application: str) -> None:
        """Let YARN kill an application at once."""
        self._ask(lambda: self._client.kill_application(application))

    def close(self) -> None:
        """End the driver; calls that still wait for an answer fail."""
        self._end_driver()
        self._asks.shutdown(cancel_futures=True)

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Ask in a thread: Hadoop retries for minutes if the ResourceManager does not answer."""
        with self._refusing():
            if self._client._proc.poll() is not None:  # noqa: SLF001
                self._renew()
            driver = self._client._proc  # noqa: SLF001
            try:
                return self._asks.submit(question).result(ANSWER_WITHIN_S)
            except self._skein.exceptions.ConnectionError:
                with suppress(subprocess.TimeoutExpired):  # its connection may close first
                    driver.wait(1)
                if driver.poll() is None:
                    raise  # the application master did not answer, and the driver lives
            except TimeoutError:
                if not processes.is_stopped(driver.pid):
                    raise
            self._renew()
            return self._asks.submit(question).result(ANSWER_WITHIN_S)

    def _renew(self) -> None:
        """Start another driver: the client needs one, the application does not."""
        log.warning("skein's driver has ended: another one is started")
        self._end_driver()
        try:
            self._client = self._start()
        except (self._skein.exceptions.SkeinError, OSError) as error:
            raise ResourceManagerDown(
                "skein's driver, a Java program, has ended and does not start again",
                found=tail_of(self._log) or str(error),
                hint="The application goes on without it.",
            ) from error

    def _end_driver(self) -> None:
        driver = self._client._proc  # noqa: SLF001
        if driver.poll() is None and processes.is_stopped(driver.pid):
            driver.kill()  # a stopped process would not receive the request to end
        with suppress(OSError):
            self._client.close()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        errors = self._skein.exceptions
        try:
            yield
        except (errors.ConnectionError, errors.TimeoutError) as error:
            raise ApplicationLost(
                "what was asked does not answer", found=tail_of(self._log) or str(error)
            ) from error
        except TimeoutError as error:
            raise ResourceManagerDown(
                "the ResourceManager does not answer",
                expected=f"an answer within {ANSWER_WITHIN_S:g} s",
                found=tail_of(self._log) or "none",
                hint="Ask who runs the cluster, or try again later.",
            ) from error
        except (errors.SkeinError, ValueError, KeyError) as error:
            raise refused(str(error), asked="the ResourceManager") from error


@contextmanager
def connect(hadoop: Hadoop, login: Login | None = None) -> Iterator[Cluster]:
    """Connect to a cluster; the driver's JVM has ended when the block has.

    Without a login, the driver uses the user's Kerberos ticket. ResourceManagerDown if none
    answers; NoCluster if Java, `yarn`, or something that they need is missing.
    """
    check_programs()
    check_reachable(hadoop)
    skein = import_skein()

    class Driver(skein.Client):  # type: ignore[misc, name-defined]
        """A client that is destroyed without an error if its driver did not start."""

        def __init__(self, **more: Any) -> None:
            self._proc = None
            super().__init__(**more)

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "driver.log")
        start = partial(
            Driver,
            log=str(log),
            log_level="WARN",
            java_options=[DRIVER_MEMORY],
            keytab=login and login.keytab,
            principal=login and login.principal,
        )
        try:
            cluster = Cluster(lambda: start(security=own_key(skein)), skein, log)
        except (skein.exceptions.SkeinError, OSError) as error:
            found = tail_of(log) or f"{type(error).__name__}: {error}"
            summary = "skein's driver, a Java program, does not start"
            hint = "Check whether `yarn classpath --glob` works."
            if known := diagnose(found, among=_JAVA_AGES):
                age = _JAVA_AGES[known.cause]
                summary = f"the Java of this machine is too {age} for the cluster's programs"
                hint = "Set JAVA_HOME to a Java 8 to 21, as the cluster has it."
            raise NoCluster(summary, where=hadoop.conf, found=found, hint=hint) from error
        try:
            yield cluster
        finally:
            cluster.close()


def tail_of(log: Path) -> str:
    """Return the last lines of a log that are not noise."""
    lines = text_of(log)[-TAIL_CHARACTERS:].splitlines()
    kept = [line.strip() for line in lines if not _NOISE.search(line)]
    return " | ".join(kept[-MOST_LINES:])
