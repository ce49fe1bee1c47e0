"""The one table of YARN's words for why it did not run or ended an application or a container.

YARN has no codes for these causes, only texts, mixed with Java's and the shell's. Here each text is
read once; every program names the cause in its own error, with its own flags in the hint.
"""

import re
from collections.abc import Container
from enum import Enum, auto
from typing import NamedTuple


class Cause(Enum):
    """The cause why an application or a container did not run, or was ended."""

    NO_JAVA = auto()
    """The node has no Java where YARN looks for it."""
    OLD_JAVA = auto()
    """A program was compiled for a newer Java than the node has."""
    NEW_JAVA = auto()
    """The node's Java is too new for its Hadoop."""
    BAD_JAVA = auto()
    """The node's Java does not start with such options."""
    TOO_MUCH_MEMORY = auto()
    """Spark asks for more memory than the cluster gives a container."""
    TOO_LARGE = auto()
    """The cluster gives no container that large."""
    NO_QUEUE = auto()
    QUEUE_DENIED = auto()
    """The user may not submit to the queue."""
    FILE_DENIED = auto()
    """The user may not do something in HDFS."""
    DENIED = auto()
    """The user may not, whatever it is."""
    BAD_ARCHIVE = auto()
    """An archive cannot be unpacked on the node: damaged, or no room."""
    CHANGED_FILE = auto()
    """A file is not the one that was submitted any more."""
    MISSING_FILE = auto()
    """A file that was submitted is not there any more."""
    OUT_OF_MEMORY = auto()
    EXECUTOR_OUT_OF_MEMORY = auto()
    """The same in Spark's words, of an executor."""
    LOST_NODE = auto()
    PREEMPTED = auto()
    DISKS_FAILED = auto()
    KILLED = auto()
    """Somebody ended the application."""
    EXECUTORS_FAILED = auto()
    """Too many of Spark's executors failed."""
    FAILED = auto()
    """YARN says no more than that."""


class Diagnosis(NamedTuple):
    """A cause found in YARN's words, and these words on one line."""

    cause: Cause
    words: str


# The special rows stand before the general ones. The brackets of a row hold the words to show.
_TABLE: tuple[tuple[str, Cause], ...] = (
    (
        r"\S*\bjava: (?:No such file(?: or directory)?|not found|Permission denied|cannot execute)",
        Cause.NO_JAVA,
    ),
    (
        r"Required (?:executor|AM) memory.*?max threshold \([^)]*\) of this cluster",
        Cause.TOO_MUCH_MEMORY,
    ),
    (r"Invalid resource request! .*?maximum allowed allocation=<[^>]*>", Cause.TOO_LARGE),
    (r"Invalid resource request|InvalidResourceRequest", Cause.TOO_LARGE),
    (r"submitted by user \S+ to (?:unknown queue|non-leaf queue)[^\n]*", Cause.NO_QUEUE),
    (
        r"unknown queue|Queue [^\n]*(?:not found|does(?:n't| not) exist)|non-leaf queue",
        Cause.NO_QUEUE,
    ),
    (r"User \S+ (?:cannot|does not have permission to) submit[^\n]*", Cause.QUEUE_DENIED),
    (r"Permission denied: user=[^\n]*", Cause.FILE_DENIED),
    (r"AccessControlException|Permission denied", Cause.DENIED),
    (r"Download and unpack failed", Cause.BAD_ARCHIVE),
    (r"Resource (\S+) changed on src filesystem", Cause.CHANGED_FILE),
    (r"File does not exist: (\S+)", Cause.MISSING_FILE),
    (r"Container killed by YARN for exceeding.*? memory used", Cause.EXECUTOR_OUT_OF_MEMORY),
    (
        r"[0-9.]+ [KMGT]?B of [0-9.]+ [KMGT]?B (?:physical|virtual) memory used",
        Cause.OUT_OF_MEMORY,
    ),
    (
        r"exceeding memory limits|beyond the 'PHYSICAL' memory limit|physical memory used",
        Cause.OUT_OF_MEMORY,
    ),
    (r"released on a \*?lost\*? node", Cause.LOST_NODE),
    (r"preempted by scheduler", Cause.PREEMPTED),
    (r"Most of the disks failed[^\n]*", Cause.DISKS_FAILED),
    (r"Application application_\S+ (?:was )?killed by[^\n]*", Cause.KILLED),
    (r"was killed by user|killed by [^\n]*(?:admin|user) ", Cause.KILLED),
    (r"\S*UnsupportedClassVersionError[^\n]*|Unsupported major\.minor version", Cause.OLD_JAVA),
    (r"getSubject is (?:not )?supported", Cause.NEW_JAVA),
    (
        r"Unrecognized (?:VM )?option:? '?[-\w:+=./]+|Could not create the Java Virtual Machine",
        Cause.BAD_JAVA,
    ),
    (r"Max number of executor failures[^\n]*", Cause.EXECUTORS_FAILED),
    (r"Application application_\S+ failed [^\n]*(?:\n[^\n]+){0,2}", Cause.FAILED),
)
_COMPILED = [(re.compile(text, re.DOTALL | re.IGNORECASE), cause) for text, cause in _TABLE]

_EMPTY_WORDS = ("at ", "Last 4096 bytes", "For more detailed output", "Failing the application")
_TIME = re.compile(r"\[[0-9-]+ [0-9:.]+\]")


def diagnose(text: str, among: Container[Cause] = frozenset(Cause)) -> Diagnosis | None:
    """Return the first cause of the table that a text names; None if it names none.

    The text is any output of YARN, Java or a shell. Only the causes in *among* are looked for.
    """
    for pattern, cause in _COMPILED:
        if cause in among and (match := pattern.search(text)):
            return Diagnosis(cause, " ".join((match[1] if pattern.groups else match[0]).split()))
    return None


def brief(text: str, most: int) -> str:
    """Shorten YARN's words to *most* characters: no stack traces, times or repetitions."""
    text = text.partition("Dump of the process-tree")[0]
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in dict.fromkeys(lines) if line and not line.startswith(_EMPTY_WORDS)]
    short = " ".join(_TIME.sub("", line) for line in kept).strip(" .")
    return short if len(short) <= most else f"{short[: most - 1]}…"
