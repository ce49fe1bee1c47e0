"""The parts of `scan` that run in Spark. Importing this module imports Spark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from audioloom_spark.session import spark_session
from audioloom_spark.units import run_units
from audioloom_stage.errors import BadData, NoPermission, ServiceDown, StageError
from audioloom_stage.redaction import redact
from audioloom_storage import Location, locate

from audioloom_featurizer.errors import InvalidOption, MissingLibrary
from audioloom_featurizer.inventory.labels.jdbc import driver_jars, without_parameters
from audioloom_featurizer.settings import ScanSettings


@contextmanager
def spark_runner(settings: ScanSettings) -> Iterator[Callable[..., Iterator[Any]]]:
    """Make a runner that calls a function in Spark tasks; one session serves several rounds."""
    with spark_session("audioloom-featurizer", settings, locate(settings.root)) as session:
        yield partial(run_units, session)


def fetch(
    settings: ScanSettings,
    choose: Callable[[Sequence[str]], Mapping[str, str]],
    target: Location,
) -> None:
    """Write the result of a database query to a new folder of Parquet files, by a Spark task.

    The settings are those of `with_password`; Spark runs on this machine by default. The function
    *choose* maps the columns of the result to the columns to keep, with their Spark types.

    Raises:
        MissingLibrary: no jar has a driver for this URL.
        ServiceDown, NoPermission, InvalidOption, BadData: the database refused.
    """
    own = driver_jars(settings)
    settings = settings.model_copy(update={"master": settings.master or "local[1]"})
    with spark_session(
        "audioloom-featurizer", settings, locate(settings.root), conf=own
    ) as session:
        options = {
            "url": str(settings.labels_jdbc),
            "query": str(settings.labels_query),
            "driver": _driver(session, settings),
            "fetchsize": str(_ROWS_AT_ONCE),
        }
        if settings.jdbc_user is not None:
            options["user"] = settings.jdbc_user
        if settings.jdbc_password is not None:
            options["password"] = settings.jdbc_password.get_secret_value()
        try:
            answer = session.read.format("jdbc").options(**options).load()
            chosen = choose(answer.columns)
            columns = [answer[f"`{name}`"].cast(kind).alias(name) for name, kind in chosen.items()]
            answer.select(*columns).write.parquet(target.uri)
        except StageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever Java raises
            raise _refused(error, settings, session) from None


def _driver(session: Any, settings: ScanSettings) -> str:
    """Find the driver class for the URL; Java's service files name the drivers."""
    jvm = session.sparkContext._jvm  # noqa: SLF001 - the way to Java
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind = jvm.java.lang.Class.forName("java.sql.Driver")
    drivers = jvm.java.util.ServiceLoader.load(kind, loader).iterator()
    while drivers.hasNext():
        driver = drivers.next()
        if driver.acceptsURL(settings.labels_jdbc):
            return str(driver.getClass().getName())
    raise MissingLibrary(
        "no driver for this database",
        where=without_parameters(settings.labels_jdbc),
        expected="one among the jars",
        found=", ".join(settings.jdbc_jar) or "no jars of drivers",
        hint="Name it: --jdbc-jar org.postgresql:postgresql:42.7.4, or a file.",
    )


def _refused(error: Exception, settings: ScanSettings, session: Any) -> StageError:
    """Make the error for the class of the SQLSTATE; it never holds the password."""
    from py4j.java_gateway import is_instance_of  # noqa: PLC0415 - comes with pyspark

    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    state, message = "", str(error)
    while cause is not None:
        message = str(cause.getMessage() or message)
        if is_instance_of(session.sparkContext._gateway, cause, _SQL_ERROR):  # noqa: SLF001
            state = str(cause.getSQLState() or "")
        cause = cause.getCause()
    kind = ERROR_BY_STATE.get(state[:2], BadData)
    return kind(
        "the database refused",
        where=without_parameters(settings.labels_jdbc),
        found=f"{redact(message)[:300]}{f' (SQLSTATE {state})' if state else ''}",
        hint="See --labels-query, --jdbc-user and the password." if kind is not ServiceDown else "",
    )


_ROWS_AT_ONCE = 10_000
_SQL_ERROR = "java.sql.SQLException"
ERROR_BY_STATE: dict[str, type[StageError]] = {
    "08": ServiceDown,
    "28": NoPermission,
    "42": InvalidOption,
}
