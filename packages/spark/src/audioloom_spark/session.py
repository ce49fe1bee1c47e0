"""A Spark session that is quiet, bounded, and runs the stage's own Python in its tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from audioloom_stage.escapes import safe_text
from audioloom_stage.progress_bar import working
from audioloom_stage.terminal import descriptor_of
from audioloom_storage import Location

from audioloom_spark.application_errors import reason
from audioloom_spark.applications import diagnostics, end, warn_while_waiting
from audioloom_spark.java import find_java
from audioloom_spark.settings import SparkSettings
from audioloom_spark.yarn import ENVIRONMENT_PYTHON, prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = structlog.get_logger()

# Task logs go to stderr: stdout of a stage is its result alone. py4j prints through stderr too.
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} spark %p %c{1}: %m%n
# One line for each lost task of a job that is reported as a whole anyway.
logger.noise.name = org.apache.spark.scheduler.TaskSetManager
logger.noise.level = off
# What keeps Spark from starting or goes wrong with its application is raised, and explained.
logger.context.name = org.apache.spark.SparkContext
logger.context.level = off
logger.yarn.name = org.apache.spark.scheduler.cluster
logger.yarn.level = off
# As the root: Spark's shell says that it changes the level, unless both are the same.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
"""

_END_SECONDS = 30.0  # of the JVM

# The JVM itself warns of incubator modules at every start, before any logger: Spark requests the
# module, and Java has no option to silence it. The warning tells a user nothing.
_START_LINES = (b"WARNING: Using incubator modules: jdk.incubator.vector",)


@contextmanager
def spark_session(
    application: str,
    settings: SparkSettings,
    root: Location | str = ".",
    *,
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Yield a session for one run of a stage, then stop it and remove its scratch folder.

    Args:
        application: the name that Spark shows.
        settings: the master, and the resources to request of YARN.
        root: the root of the runs, below which files lie that are shipped to YARN's nodes.
        conf: further `spark.*` settings; they win over ours.

    Raises:
        BadConfiguration: no usable Java, no cluster, or a cluster that cannot give the resources.
        ServiceDown: the cluster does not answer.
        StorageError: the files for the nodes could not be shipped.
    """
    java = find_java()
    starting = ExitStack()  # until the session is there
    with starting, tempfile.TemporaryDirectory(prefix="audioloom-spark-") as scratch:
        starting.enter_context(working("starting Spark"))
        import pyspark  # noqa: PLC0415 - a second of import, after the checks
        from py4j.protocol import Py4JError  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415

        home = Path(pyspark.__file__).parent
        on_yarn = settings.master == "yarn"
        tag = f"audioloom-{uuid.uuid4().hex}" if on_yarn else ""
        of_yarn = {**prepare(settings, root, home), "spark.yarn.tags": tag} if on_yarn else {}
        log4j = Path(scratch, "log4j2.properties")
        log4j.write_text(_LOG4J)
        # In client mode the workers' Python comes from the environment alone.
        python = os.environ.get("PYSPARK_PYTHON", sys.executable)
        python = ENVIRONMENT_PYTHON if on_yarn else python
        path = _without_working_folder(os.environ.get("PYTHONPATH", ""))
        environment = {
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "JAVA_HOME": str(java.resolve().parent.parent),
            "SPARK_HOME": str(home),  # no other Spark of this machine
            # Workers start as `python -m`, which would look in the working folder first.
            "PYTHONSAFEPATH": "1",
            # An empty value would become an empty entry on YARN: the container's folder.
            "PYTHONPATH": path or None,
        }
        waiting = warn_while_waiting(tag) if tag else nullcontext()
        with variables_set(environment), waiting:
            builder = SparkSession.builder.appName(application).master(settings.master)
            for key, value in {
                **_defaults(settings, scratch, log4j),
                **of_yarn,
                **(conf or {}),
            }.items():
                builder = builder.config(key, value)
            with filtered_stderr() as messages:
                session = _start(builder, tag)
            starting.close()
            if on_yarn:
                log.info("Spark runs on YARN", application=session.sparkContext.applicationId)
            try:
                yield session
            finally:
                gateway = session.sparkContext._gateway  # noqa: SLF001 - see _end_gateway
                with suppress(Py4JError, OSError):  # Java may have ended, which was reported
                    session.stop()
                _end_gateway(gateway)
                messages.join(timeout=5)  # the JVM's last words come before our next line


@contextmanager
def filtered_stderr() -> Iterator[threading.Thread]:
    """Let processes started in the block write to a pipe, which is passed on to stderr.

    Yield the thread that passes it on; it ends when the last of those processes has.
    """
    reading, writing = os.pipe()
    stderr = os.dup(2)
    relay = threading.Thread(target=_relay, args=(reading, os.dup(2)), name="spark-stderr")
    relay.daemon = True  # a JVM that outlives this process must not delay its end
    relay.start()
    os.dup2(writing, 2)
    os.close(writing)
    with os.fdopen(stderr, "w") as ours:
        try:
            # A bar of this process is drawn on the terminal, and not into the pipe.
            is_terminal = descriptor_of(sys.stderr) == 2  # noqa: PLR2004
            with redirect_stderr(ours) if is_terminal else nullcontext():
                yield relay
        finally:
            os.dup2(stderr, 2)  # later output goes to stderr again, of children too


def _relay(reading: int, stderr: int) -> None:
    with os.fdopen(reading, "rb") as source, os.fdopen(stderr, "wb") as target:
        for line in source:
            if line.rstrip() not in _START_LINES:
                text = safe_text(line.decode(errors="replace"), lines=True)
                target.write(text.encode())
                target.flush()


def _without_working_folder(path: str) -> str:
    """Return a search path without empty entries, as `PATH:` leaves them, and without dots."""
    entries = path.split(os.pathsep)
    return os.pathsep.join(each for each in entries if os.path.normpath(each) != os.curdir)


def _start(builder: SparkSession.Builder, tag: str) -> SparkSession:
    from pyspark import SparkContext  # noqa: PLC0415

    try:
        return builder.getOrCreate()
    except BaseException as error:
        reported: BaseException = error
        jvm: Any = SparkContext._jvm  # noqa: SLF001 - the way to Java
        if tag and jvm is not None:
            if isinstance(error, Exception):
                reported = reason(f"{diagnostics(jvm, tag)}\n{error}") or error
            # After Ctrl-C, which another error may hide, or a failure of the driver alone: an
            # application that waits in its queue would start later, for nobody.
            end(jvm, tag)
        active: Any = SparkContext._active_spark_context  # noqa: SLF001 - the context exists without a session
        if active is not None:
            active.stop()
        if SparkContext._gateway is not None:  # noqa: SLF001 - see _end_gateway
            _end_gateway(SparkContext._gateway)  # noqa: SLF001
        if reported is error:
            raise
        raise reported from error


def _defaults(settings: SparkSettings, scratch: str, log4j: Path) -> dict[str, str]:
    # Recordings go through Python alone. For the rest, Java's second compiler costs more than it
    # saves: a first job takes half of the processor time without it.
    java = "-XX:TieredStopAtLevel=1"
    return {
        "spark.driver.extraJavaOptions": f"{java} -Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.executor.extraJavaOptions": java,
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": str(Path(scratch, "warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Interpreters are reused: each pays its imports (NumPy, SciPy, libsndfile) once.
        "spark.python.worker.reuse": "true",
        "spark.driver.memory": f"{settings.driver_memory >> 20}m",
        # Answers of units count as results, and 1 GiB of results would end the job. The driver
        # holds none of them: they go to the caller one by one.
        "spark.driver.maxResultSize": "0",
        # Nothing listens beyond this machine when the master is local.
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        # Whoever reaches the driver must know a secret, which the driver makes or YARN hands out,
        # because the driver deserializes what it receives.
        "spark.authenticate": "true",
    }


@contextmanager
def variables_set(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of the environment until the block ends; None removes one."""
    before = {key: os.environ.get(key) for key in values}
    _set_variables(values)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def _end_gateway(gateway: Any) -> None:
    """End the JVM too: pyspark keeps it until the interpreter ends, with its scratch open."""
    from pyspark import SparkContext  # noqa: PLC0415

    process = gateway.proc
    try:
        gateway.shutdown()
        if process.stdin is not None:
            process.stdin.close()  # pyspark's JVM ends when its stdin does
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:  # the work is done, and nothing more is expected of it
        process.kill()
        process.wait()
    finally:
        # So that a later session starts a JVM of its own. One that was killed leaves a context.
        SparkContext._gateway = None  # noqa: SLF001
        SparkContext._jvm = None  # noqa: SLF001
        SparkContext._active_spark_context = None  # noqa: SLF001
