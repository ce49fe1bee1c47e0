"""The one table of YARN's words for why it did not run or ended an application or a container.

YARN has no codes for these causes, only texts, mixed with Java's and the shell's. Here each text is
read once; every program names the cause in its own error, with its own flags in the hint.
"""

import re
from collections.abc import Container
from enum import Enum
from typing import NamedTuple

_EMPTY_WORDS = ("at ", "Last 4096 bytes", "For more detailed output", "Failing the application")
_TIME = re.compile(r"\[[0-9-]+ [0-9:.]+\]")


class Cause(Enum):
    """Why an application or a container did not run, or was ended, with the texts that say so.

    The special causes stand before the general ones. The brackets of a text hold the words to show.
    A text that starts with letters of any number looks behind it for its beginning, and one with a
    gap limits the gap: the time would grow with the square of a long line.
    """

    NO_JAVA = (
        r"(?<!\S)\S*\bjava: "
        r"(?:No such file(?: or directory)?|not found|Permission denied|cannot execute)",
    )
    """The node has no Java where YARN looks for it."""
    TOO_MUCH_MEMORY = (
        r"Required (?:executor|AM) memory.{0,500}?max threshold \([^)]*\) of this cluster",
    )
    """Spark asks for more memory than the cluster gives a container."""
    TOO_LARGE = (
        r"Invalid resource request! .{0,500}?maximum allowed allocation=<[^>]*>",
        r"Invalid resource request|InvalidResourceRequest",
    )
    """The cluster gives no container that large."""
    NO_QUEUE = (
        r"submitted by user \S+ to (?:unknown queue|non-leaf queue)[^\n]*",
        r"unknown queue|Queue [^\n]{0,500}(?:not found|does(?:n't| not) exist)|non-leaf queue",
    )
    QUEUE_DENIED = (r"User \S+ (?:cannot|does not have permission to) submit[^\n]*",)
    FILE_DENIED = (r"Permission denied: user=[^\n]*",)
    """The user may not do something in HDFS."""
    DENIED = (r"AccessControlException|Permission denied",)
    """The user may not, whatever it is."""
    BAD_ARCHIVE = (r"Download and unpack failed",)
    """An archive cannot be unpacked on the node: damaged, or no room."""
    CHANGED_FILE = (r"Resource (\S+) changed on src filesystem",)
    MISSING_FILE = (r"File does not exist: (\S+)",)
    EXECUTOR_OUT_OF_MEMORY = (r"Container killed by YARN for exceeding.{0,500}? memory used",)
    """In Spark's words."""
    OUT_OF_MEMORY = (
        r"(?<![0-9.])[0-9.]+ [KMGT]?B of [0-9.]+ [KMGT]?B (?:physical|virtual) memory used",
        r"exceeding memory limits|beyond the 'PHYSICAL' memory limit|physical memory used",
    )
    LOST_NODE = (r"released on a \*?lost\*? node",)
    PREEMPTED = (r"preempted by scheduler",)
    DISKS_FAILED = (r"Most of the disks failed[^\n]*",)
    KILLED = (
        r"Application application_\S+ (?:was )?killed by[^\n]*",
        r"was killed by user|killed by [^\n]{0,500}(?:admin|user) ",
    )
    """Somebody ended the application."""
    OLD_JAVA = (r"(?<!\S)\S*UnsupportedClassVersionError[^\n]*|Unsupported major\.minor version",)
    """A program was compiled for a newer Java than the node has."""
    NEW_JAVA = (r"getSubject is (?:not )?supported",)
    """The node's Java is too new for its Hadoop."""
    BAD_JAVA = (
        r"Unrecognized (?:VM )?option:? '?[-\w:+=./]+|Could not create the Java Virtual Machine",
    )
    """The node's Java does not start with such options."""
    EXECUTORS_FAILED = (r"Max number of executor failures[^\n]*",)
    """Too many of Spark's executors failed."""
    FAILED = (r"Application application_\S+ failed [^\n]*(?:\n[^\n]+){0,2}",)
    """YARN says no more than that."""


class Diagnosis(NamedTuple):
    """A cause found in YARN's words, and these words on one line."""

    cause: Cause
    words: str


def diagnose(text: str, among: Container[Cause] = frozenset(Cause)) -> Diagnosis | None:
    """Return the first cause of the table that a text names; None if it names none.

    The text is any output of YARN, Java or a shell. Only the causes in *among* are looked for.
    """
    for cause in Cause:
        for pattern in cause.value if cause in among else ():
            if match := re.search(pattern, text, re.DOTALL | re.IGNORECASE):
                words = match[match.re.groups]  # of the brackets; all of them without any
                return Diagnosis(cause, " ".join(words.split()))
    return None


def brief(text: str, most: int) -> str:
    """Shorten YARN's words to *most* characters: no stack traces, times or repetitions."""
    text = text.partition("Dump of the process-tree")[0]
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in dict.fromkeys(lines) if line and not line.startswith(_EMPTY_WORDS)]
    short = " ".join(_TIME.sub("", line) for line in kept).strip(" .")
    return short if len(short) <= most else f"{short[: most - 1]}…"
