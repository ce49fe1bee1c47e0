"""Why Spark does not start on YARN, or stopped there, in a sentence."""

from __future__ import annotations

import re

from audioloom_stage import StageError, TryAgain

from audioloom_spark.errors import (
    BadRequest,
    ModuleMissing,
    NodesUnfit,
    NotAllowed,
    SparkGaveUp,
)

__all__ = ["missing_module", "reason"]

_MOST = 300

_JAVA = "Name the JAVA_HOME of a Java 17 on the nodes by --node-java."

# In this order: what is more special first.
_REASONS: tuple[tuple[str, type[StageError], str], ...] = (
    (
        r"(submitted by user \S+ to (?:unknown queue|non-leaf queue)[^\n]*)",
        BadRequest,
        "Name a queue of this cluster by --queue.",
    ),
    (
        r"AccessControlException: (User \S+ (?:cannot|does not have permission to) submit[^\n]*)",
        NotAllowed,
        "Name a queue that you may use by --queue.",
    ),
    (
        r"(Permission denied: user=[^\n]*)",
        NotAllowed,
        "Spark keeps what belongs to an application below the user's home on HDFS: have"
        " /user/NAME made for you.",
    ),
    (
        r"(Required (?:executor|AM) memory.*?max threshold \([^)]*\) of this cluster)",
        BadRequest,
        "Ask for less by --executor-memory.",
    ),
    (
        r"(Invalid resource request! .*?maximum allowed allocation=<[^>]*>)",
        BadRequest,
        "Ask for less by --executor-cores or --executor-memory.",
    ),
    (r"(\S*java: (?:No such file or directory|not found|Permission denied))", NodesUnfit, _JAVA),
    (r"(\S*UnsupportedClassVersionError: [^\n]*)", NodesUnfit, _JAVA),
    (
        r"(Unrecognized (?:VM )?option:? '?[-\w:+=./]+|Could not create the Java Virtual Machine)",
        NodesUnfit,
        _JAVA,
    ),
    (
        r"(Container killed by YARN for exceeding.*? memory used)",
        SparkGaveUp,
        "Ask for more by --executor-memory, or for fewer --executor-cores.",
    ),
    (
        r"(Max number of executor failures[^\n]*)",
        SparkGaveUp,
        "`yarn logs -applicationId` shows what the containers said.",
    ),
    (r"(Application application_\S+ (?:was )?killed by[^\n]*)", SparkGaveUp, ""),
    (
        r"(Application application_\S+ failed [^\n]*(?:\n[^\n]+){0,2})",
        SparkGaveUp,
        "`yarn logs -applicationId` with this name shows what its containers said.",
    ),
)


# Of a worker that does not start, of one that cannot unpack its task.
_NO_MODULE = re.compile(
    r"((?:ModuleNotFoundError|ImportError): [^\n]+|No module named [^\n]+)",
)


def missing_module(text: str) -> ModuleMissing | None:
    """What Spark's Python workers could not import, if it is that which Spark tells."""
    match = _NO_MODULE.search(text)
    if match is None:
        return None
    return ModuleMissing(
        "Spark's Python workers lack a module",
        expected="the modules of this installation",
        found=match[1][:_MOST],
        hint="Install the program anew; where PYSPARK_PYTHON is set, unset it.",
    )


def reason(text: str) -> StageError | None:
    """The reason that Spark's and YARN's words hold, if it is one of the known."""
    for pattern, kind, hint in _REASONS:
        match = re.search(pattern, text, re.DOTALL)
        if match:
            found = " ".join(match[1].split())[:_MOST]
            what = "Spark gave up" if issubclass(kind, TryAgain) else "YARN does not run Spark"
            return kind(what, found=found, hint=hint)
    return None
