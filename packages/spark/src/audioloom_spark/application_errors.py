"""Explain in one sentence why Spark does not start on YARN, or stopped there."""

import re

from audioloom_hadoop.yarn_diagnostics import Cause, diagnose
from audioloom_stage.errors import BadConfiguration, NoPermission, StageError, TryAgain

_MOST = 300

_JAVA = (BadConfiguration, "Name the JAVA_HOME of a Java 17 on the nodes by --node-java.")
_MEMORY = (TryAgain, "Ask for more by --executor-memory, or for fewer --executor-cores.")
_ERRORS: dict[Cause, tuple[type[StageError], str]] = {
    Cause.NO_QUEUE: (BadConfiguration, "Name a queue of this cluster by --queue."),
    Cause.QUEUE_DENIED: (NoPermission, "Name a queue that you may use by --queue."),
    Cause.FILE_DENIED: (
        NoPermission,
        "Spark keeps what belongs to an application below the user's home on HDFS: have"
        " /user/NAME made for you.",
    ),
    Cause.TOO_MUCH_MEMORY: (BadConfiguration, "Ask for less by --executor-memory."),
    Cause.TOO_LARGE: (BadConfiguration, "Ask for less by --executor-cores or --executor-memory."),
    Cause.NO_JAVA: _JAVA,
    Cause.OLD_JAVA: _JAVA,
    Cause.BAD_JAVA: _JAVA,
    Cause.EXECUTOR_OUT_OF_MEMORY: _MEMORY,
    Cause.OUT_OF_MEMORY: _MEMORY,
    Cause.EXECUTORS_FAILED: (
        TryAgain,
        "`yarn logs -applicationId` shows what the containers said.",
    ),
    Cause.KILLED: (TryAgain, ""),
    Cause.FAILED: (
        TryAgain,
        "`yarn logs -applicationId` with this name shows what its containers said.",
    ),
}

# The texts of a worker that does not start, and of a worker that cannot unpack its task.
_NO_MODULE = re.compile(
    r"((?:ModuleNotFoundError|ImportError): [^\n]+|No module named [^\n]+)",
)


def missing_module(text: str) -> BadConfiguration | None:
    """Return the module that Spark's Python workers could not import, if Spark says so."""
    match = _NO_MODULE.search(text)
    if match is None:
        return None
    return BadConfiguration(
        "Spark's Python workers lack a module",
        expected="the modules of this installation",
        found=match[1][:_MOST],
        hint="Install the program anew; where PYSPARK_PYTHON is set, unset it.",
    )


def reason(text: str) -> StageError | None:
    """Return the known reason in Spark's and YARN's words, if there is one."""
    found = diagnose(text, among=_ERRORS)
    if found is None:
        return None
    kind, hint = _ERRORS[found.cause]
    what = "Spark gave up" if issubclass(kind, TryAgain) else "YARN does not run Spark"
    return kind(what, found=found.words[:_MOST], hint=hint)
