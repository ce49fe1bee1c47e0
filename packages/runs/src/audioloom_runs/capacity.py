"""Predict what a run takes, from counts alone, and judge it: green, amber or red.

A stage computes its own lines by pure functions. shared/capacity.md says where the constants come
from.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, inf

from audioloom_stage.result import JSON, Result

from audioloom_runs.tables import size_text, table

CALLS_PER_SECOND = 50_000
"""Calls that a NameNode answers."""
COPIES = 3
"""Of each block: HDFS's `dfs.replication`."""
BLOCK_BYTES = 128 << 20
"""HDFS's `dfs.blocksize`."""
LISTED = 1000
"""Entries in an answer to a listing: HDFS's `dfs.ls.limit`."""
READ_BYTES = 32 << 10
"""What a small read at some place of a file takes of a block: two reads of the buffer's size."""

# Of a line that is amber beyond the first, and red beyond the second.
HOURS_OF_CALLS = (0.25, 1.0)
ENTRIES_OF_FOLDER = (100_000, 1 << 20)  # `dfs.namenode.fs-limits.max-directory-items`
DRIVER_BYTES = (1 << 30, 2 << 30)
CLOSURE_BYTES = (1 << 20, 10 << 20)  # Spark warns of a task beyond 1 MB
BLOCK_READS_BYTES = (100 * 10**9, 10**12)


@dataclass(frozen=True)
class Line:
    """A quantity of a planned run.

    Attributes:
        name: what it counts.
        amount: how much.
        unit: of the amount: "B", "h", "s", "/s", or "" for a number.
        limits: the amounts beyond which it is amber, and red.
        advice: what to change if it is not green.
    """

    name: str
    amount: float
    unit: str = ""
    limits: tuple[float, float] = (inf, inf)
    advice: str = ""

    @property
    def verdict(self) -> str:
        """Green, amber or red."""
        return ("green", "amber", "red")[sum(self.amount > limit for limit in self.limits)]

    @property
    def text(self) -> str:
        """The amount for people."""
        if self.unit == "B":
            return size_text(round(self.amount))
        return f"{self.amount:,.2f} {self.unit}" if self.unit else f"{self.amount:,.0f}"


def calls(
    *,
    opens: int = 0,
    stats: int = 0,
    lists: int = 0,
    files: int = 0,
    blocks: int = 0,
    folders: int = 0,
    removed: int = 0,
) -> Counter[str]:
    """Count a NameNode's calls by kind.

    Args:
        opens: files that are opened for reading.
        stats: questions for an entry, besides those of new and removed files.
        lists: answers to listings.
        files: new files, each of which is looked for, created, completed, looked at and renamed.
        blocks: of the new files.
        folders: new folders, or those that may be there.
        removed: files that are looked at and deleted.
    """
    return Counter(
        {
            "open": opens,
            "stat": stats + 2 * files + removed,
            "list": lists,
            "create": files,
            "add block": blocks,
            "complete": files,
            "rename": files,
            "make folder": folders,
            "delete": removed,
        }
    )


def blocks_of(size: int, files: int) -> int:
    """The blocks of files that have *size* bytes together, each as many as the others."""
    return files * ceil(size / files / BLOCK_BYTES)


def hours_of(counted: Mapping[str, int]) -> float:
    """The hours in which a NameNode answers so many calls, and no others."""
    return sum(counted.values()) / CALLS_PER_SECOND / 3600


def call_lines(counted: Mapping[str, int], advice: str) -> list[Line]:
    """A line for each kind of call, and one for the time of all."""
    hours = hours_of(counted)
    return [
        *(Line(f"NameNode: {kind}", count) for kind, count in counted.items() if count),
        Line("NameNode: time of all calls", hours, "h", HOURS_OF_CALLS, advice),
    ]


def capacity_result(lines: Sequence[Line], known: Mapping[str, JSON]) -> Result:
    """The lines as a table and as JSON, with the facts that are *known* about the run."""
    worst = max((line.verdict for line in lines), key=("green", "amber", "red").index)
    rows = [
        (one.name, one.text, one.verdict, one.advice if one.verdict != "green" else "")
        for one in lines
    ]
    shown: list[JSON] = [
        {**asdict(one), "limits": [each if each < inf else None for each in one.limits],
         "verdict": one.verdict}
        for one in lines
    ]  # fmt: skip
    head = ("", "amount", "verdict", "what to change")
    return Result(table(head, rows), {**known, "verdict": worst, "capacity": shown})
