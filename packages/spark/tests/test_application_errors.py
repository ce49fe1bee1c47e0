"""Java's words become a sentence and an exit code."""

from __future__ import annotations

import pytest
from audioloom_spark.application_errors import reason
from audioloom_stage.errors import BadConfiguration, NoPermission, TryAgain

SAID = {
    "Failed to submit application_1 to YARN : Application application_1 submitted by user anna to"
    " unknown queue: nightly\n\tat org.apache": (BadConfiguration, "unknown queue: nightly"),
    "Required executor memory (1024 MB), offHeap memory (0) MB, overhead (93389 MB), and PySpark"
    " memory (0 MB) is above the max threshold (6144 MB) of this cluster! Please": (
        BadConfiguration,
        "max threshold (6144 MB) of this cluster",
    ),
    "InvalidResourceRequestException: Invalid resource request! Cannot allocate. Requested resource"
    " type=[vcores], maximum allowed allocation=<memory:6144, vCores:8>, please": (
        BadConfiguration,
        "maximum allowed allocation=<memory:6144, vCores:8>",
    ),
    "Last 4096 bytes of stderr :\n/bin/bash: line 1: /x/bin/java: No such file or directory\n": (
        BadConfiguration,
        "/x/bin/java: No such file or directory",
    ),
    "Exception in thread main java.lang.UnsupportedClassVersionError: org/apache/spark/X has been"
    " compiled by a more recent version\nfoo": (BadConfiguration, "more recent version"),
    "org.apache.hadoop.yarn.exceptions.YarnException: org.apache.hadoop.security."
    "AccessControlException: User anna does not have permission to submit application_1 to queue"
    " root.night\n\tat org.apache": (NoPermission, "permission to submit application_1 to queue"),
    "org.apache.hadoop.security.AccessControlException: Permission denied: user=anna, access=WRITE,"
    ' inode="/user":root:supergroup:drwxr-xr-x\n\tat x': (NoPermission, 'inode="/user"'),
    "Application application_17_1 was killed by user anna at 10.0.0.1": (TryAgain, "killed by"),
    "Application application_17_1 failed 1 times due to AM Container exited with exitCode: -1000\n"
    "Failing this attempt.Diagnostics: no disk": (TryAgain, "Diagnostics: no disk"),
}


@pytest.mark.parametrize("text", SAID, ids=lambda text: text[:30])
def test_known_words(text: str) -> None:
    """As Spark 4 and Hadoop 3.4 say them."""
    kind, part = SAID[text]
    told = reason(text)
    assert type(told) is kind
    assert part in told.found
    assert "\n" not in str(told)


def test_unknown_words_are_left_to_the_caller() -> None:
    """Nothing is made up."""
    assert reason("java.lang.NullPointerException") is None
