"""The database and the query that give a table of labels.

The password goes from its variable or file to Spark. It is in no flag, manifest or log, and a URL
that contains a password is refused.
"""

import re

from audioloom_stage.redaction import redact
from audioloom_stage.settings import Secret
from audioloom_storage import locate, read_bytes

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.settings import ScanSettings

MOST_PASSWORD_BYTES = 4096

_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def without_parameters(url: str | None) -> str:
    """A JDBC URL without its parameters, which may be secret."""
    return re.split("[?;]", url or "", maxsplit=1)[0]


def driver_jars(settings: ScanSettings) -> dict[str, str]:
    """Spark's configuration of the drivers, which are Maven coordinates or files."""
    packages = [each for each in settings.jdbc_jar if _COORDINATES.fullmatch(each)]
    jars = [each for each in settings.jdbc_jar if each not in packages]
    own = {"spark.jars": ",".join(jars), "spark.jars.packages": ",".join(packages)}
    return {key: value for key, value in own.items() if value}


def with_password(settings: ScanSettings) -> ScanSettings | None:
    """The settings with the password of the database that they name; None if they name none.

    Raises:
        InvalidOption: an option is missing, or the URL is invalid or contains a password.
    """
    if settings.labels_jdbc is None and settings.labels_query is None:
        return None
    if settings.labels_jdbc is None or settings.labels_query is None:
        raise InvalidOption(
            "a database needs a URL and a query",
            expected="--labels-jdbc and --labels-query",
            found="one of them",
        )
    if settings.labels is not None:
        raise InvalidOption(
            "labels come from one table", expected="--labels or --labels-jdbc", found="both"
        )
    url = settings.labels_jdbc
    if not url.startswith("jdbc:"):
        raise InvalidOption(
            where="--labels-jdbc", expected="a URL such as jdbc:postgresql://host/name"
        )
    if redact(url) != url:
        raise InvalidOption(
            "the URL holds a password, which everyone on this machine can see",
            where="--labels-jdbc",
            expected="a URL without a password",
            hint="Give it in AUDIOLOOM_FEATURIZER_JDBC_PASSWORD or --jdbc-password-file.",
        )
    return settings.model_copy(update={"jdbc_password": _password(settings)})


def _password(settings: ScanSettings) -> Secret | None:
    if settings.jdbc_password_file is None:
        return settings.jdbc_password
    if settings.jdbc_password is not None:
        raise InvalidOption(
            "the password is given twice",
            expected="the variable or the file",
            found="AUDIOLOOM_FEATURIZER_JDBC_PASSWORD and --jdbc-password-file",
        )
    where = locate(settings.jdbc_password_file)
    data = read_bytes(where, limit=MOST_PASSWORD_BYTES)
    try:
        return Secret(data.decode().rstrip("\r\n"))
    except UnicodeDecodeError:
        raise InvalidOption(
            where=where, expected="a password in UTF-8", found="other bytes"
        ) from None
