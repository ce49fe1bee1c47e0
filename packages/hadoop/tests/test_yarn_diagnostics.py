from __future__ import annotations

import pytest
from audioloom_hadoop.yarn_diagnostics import Cause, brief, diagnose

# As Hadoop 3.4, Spark 4, Java and the shell say them.
SAID = [
    ("/bin/bash: line 1: /x/bin/java: No such file or directory", Cause.NO_JAVA, "/x/bin/java: No"),
    ("/bin/bash: /x/bin/java: Permission denied", Cause.NO_JAVA, "/x/bin/java: Permission denied"),
    (
        "Required executor memory (1024 MB), overhead (93389 MB)\nis above the max threshold"
        " (6144 MB) of this cluster! Please",
        Cause.TOO_MUCH_MEMORY,
        "max threshold (6144 MB) of this cluster",
    ),
    (
        "Invalid resource request! Cannot allocate. Requested resource type=[vcores], maximum"
        " allowed allocation=<memory:6144, vCores:8>, please",
        Cause.TOO_LARGE,
        "allocation=<memory:6144, vCores:8>",
    ),
    ("x.InvalidResourceRequestException: no", Cause.TOO_LARGE, "InvalidResourceRequest"),
    (
        "Application a submitted by user anna to unknown queue: nightly\n\tat org",
        Cause.NO_QUEUE,
        "unknown queue: nightly",
    ),
    ("Queue root.x doesn't exist", Cause.NO_QUEUE, "Queue root.x doesn't exist"),
    (
        "org.apache.hadoop.security.AccessControlException: User anna does not have permission to"
        " submit application_1 to queue root.night\n\tat org",
        Cause.QUEUE_DENIED,
        "permission to submit application_1 to queue root.night",
    ),
    (
        "AccessControlException: Permission denied: user=anna, access=WRITE\n\tat x",
        Cause.FILE_DENIED,
        "Permission denied: user=anna, access=WRITE",
    ),
    ("org.apache.hadoop.AccessControlException: no", Cause.DENIED, "AccessControlException"),
    ("YarnException: Download and unpack failed", Cause.BAD_ARCHIVE, "unpack failed"),
    (
        "Resource hdfs://nn/e.zip changed on src filesystem (exp",
        Cause.CHANGED_FILE,
        "hdfs://nn/e.zip",
    ),
    ("File does not exist: hdfs://nn/e.zip\n\tat", Cause.MISSING_FILE, "hdfs://nn/e.zip"),
    (
        "Container killed by YARN for exceeding physical memory limits. 1.2 GB of 1 GB physical"
        " memory used. Consider",
        Cause.EXECUTOR_OUT_OF_MEMORY,
        "exceeding physical memory limits. 1.2 GB of 1 GB physical memory used",
    ),
    (
        "Container [pid=1] is running 9 B beyond the 'PHYSICAL' memory limit. Current usage: 1.2 GB"
        " of 1 GB physical memory used",
        Cause.OUT_OF_MEMORY,
        "1.2 GB of 1 GB physical memory used",
    ),
    ("is running beyond the 'PHYSICAL' memory limit", Cause.OUT_OF_MEMORY, "memory limit"),
    ("Container released on a *lost* node", Cause.LOST_NODE, "lost"),
    ("Container preempted by scheduler", Cause.PREEMPTED, "preempted"),
    ("Most of the disks failed. 1/1 local-dirs\nmore", Cause.DISKS_FAILED, "1/1 local-dirs"),
    ("Application application_1_1 was killed by user anna at 10.0.0.1", Cause.KILLED, "user anna"),
    ("killed by the admin user x", Cause.KILLED, "killed by"),
    ("java.lang.UnsupportedClassVersionError: x newer\n", Cause.OLD_JAVA, "VersionError: x newer"),
    ("UnsupportedOperationException: getSubject is not supported", Cause.NEW_JAVA, "getSubject"),
    ("Unrecognized VM option 'Use'", Cause.BAD_JAVA, "Unrecognized VM option 'Use"),
    ("Max number of executor failures (4) reached", Cause.EXECUTORS_FAILED, "(4) reached"),
    (
        "Application application_1_1 failed 1 times due to x\nFailing this attempt: no disk",
        Cause.FAILED,
        "due to x Failing this attempt: no disk",
    ),
]


@pytest.mark.parametrize(("text", "cause", "words"), SAID, ids=[each[0][:40] for each in SAID])
def test_what_is_said_has_one_cause(text: str, cause: Cause, words: str) -> None:
    """And the words that say it, on one line."""
    found = diagnose(text)
    assert found is not None
    assert cause is found.cause
    assert words in found.words
    assert "\n" not in found.words


def test_every_cause_is_found() -> None:
    """A cause without a text would be one that nobody ever meets."""
    assert set(Cause) == {cause for _, cause, _ in SAID}


def test_nothing_is_made_up() -> None:
    """Unknown words are left to the caller."""
    assert diagnose("java.lang.NullPointerException") is None
    assert diagnose("") is None


@pytest.mark.parametrize(
    "repeated",
    [
        "x",
        "/java:",
        "1.",
        "Queue ",
        "killed by ",
        "Required executor memory ",
        "Container killed by YARN for exceeding ",
    ],
)
def test_a_long_line_takes_no_longer_than_many_short_ones(repeated: str) -> None:
    """A class path or a file in base64, which would be looked through anew at each letter."""
    text = repeated * (50_000 // len(repeated))
    assert diagnose(text) is None
    assert diagnose(f"{text}\nContainer preempted by scheduler") is not None


def test_causes_that_the_caller_does_not_know_are_passed_over() -> None:
    """What stands behind them in the same text is found."""
    text = "AccessControlException: no\nContainer released on a *lost* node"
    found = diagnose(text, among={Cause.LOST_NODE, Cause.KILLED})
    assert found is not None
    assert Cause.LOST_NODE is found.cause
    assert diagnose(text, among=()) is None


def test_words_are_shortened_to_what_says_something() -> None:
    """No traces, times, repetitions and dumps; and no longer than asked for."""
    text = (
        "one.\n\tat java.lang.Thread.run\n[2026-11-21 19:06:17.024]two\none.\nLast 4096 bytes of x"
    )
    assert "one. two" == brief(f"{text}\nDump of the process-tree for c\nthree", 99)
    assert "one.…" == brief(text, 5)
    assert "" == brief("", 5)
