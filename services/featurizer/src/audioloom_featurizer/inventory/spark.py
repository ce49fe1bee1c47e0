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
from audioloom_featurizer.inventory.labels.jdbc import Database
from audioloom_featurizer.settings import ScanSettings


@contextmanager
def spark_runner(settings: ScanSettings) -> Iterator[Callable[..., Iterator[Any]]]:
    """Make a runner that calls a function in Spark tasks; one session serves several rounds."""
    with spark_session("audioloom-featurizer", settings, locate(settings.root)) as session:
        yield partial(run_units, session)


def fetch(
    database: Database,
    choose: Callable[[Sequence[str]], Mapping[str, str]],
    target: Location,
    settings: ScanSettings,
) -> None:
    """Write the result of a database query to a folder of Parquet files, by a Spark task.

    Args:
        database: the database and the query.
        choose: maps the columns of the result to the columns to keep, with their Spark types.
        target: the folder; it must not exist.
        settings: where Spark runs; on this machine by default.

    Raises:
        MissingLibrary: no jar has a driver for this URL.
        ServiceDown, NoPermission, InvalidOption, BadData: the database refused.
    """
    own = {
        "spark.jars": ",".join(database.jars),
        "spark.jars.packages": ",".join(database.packages),
    }
    own = {key: value for key, value in own.items() if value}
    settings = settings.model_copy(update={"master": settings.master or "local[1]"})
    with spark_session(
        "audioloom-featurizer", settings, locate(settings.root), conf=own
    ) as session:
        options = {
            "url": database.url,
            "query": database.query,
            "driver": _driver(session, database),
            "fetchsize": str(_ROWS_AT_ONCE),
        }
        if database.user is not None:
            options["user"] = database.user
        if database.password is not None:
            options["password"] = database.password.get_secret_value()
        try:
            answer = session.read.format("jdbc").options(**options).load()
            chosen = choose(answer.columns)
            columns = [answer[f"`{name}`"].cast(kind).alias(name) for name, kind in chosen.items()]
            answer.select(*columns).write.parquet(target.uri)
        except StageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever Java raises
            raise _refused(error, database, session) from None


def _driver(session: Any, database: Database) -> str:
    """Find the driver class for the URL; Java's service files name the drivers."""
    jvm = session.sparkContext._jvm  # noqa: SLF001 - the way to Java
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind = jvm.java.lang.Class.forName("java.sql.Driver")
    drivers = jvm.java.util.ServiceLoader.load(kind, loader).iterator()
    while drivers.hasNext():
        driver = drivers.next()
        if driver.acceptsURL(database.url):
            return str(driver.getClass().getName())
    raise MissingLibrary(
        "no driver for this database",
        where=database.shown,
        expected="one among the jars",
        found=", ".join((*database.jars, *database.packages)) or "no jars of drivers",
        hint="Name it: --jdbc-jar org.postgresql:postgresql:42.7.4, or a file.",
    )


def _refused(error: Exception, database: Database, session: Any) -> StageError:
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
        where=database.shown,
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
