"""The progress of each worker when a gang was not complete in time.

The rows make the sentence of the cause, the record of the attempt and the table of `status`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from audioloom_yarn_launcher.rendezvous.messages import Reports

ArrivalState = Literal[
    "registered",  # it registered and waits for the others
    "unregistered",  # it has a container and is not registered
    "not-allocated",  # YARN has given it no container
    "ended",  # it ended before it registered
]
MOST_NAMES = 3


@dataclass(frozen=True)
class Arrival:
    """The progress of one worker before its registration; "" and None where nothing is known.

    Args:
        since_s: age of its process or container in seconds.
        reason: why it has not registered, without a full stop.
        tail: the last lines of its agent's output.
    """

    worker: str
    state: ArrivalState
    rank: int | None = None
    host: str = ""
    address: str = ""
    since_s: float | None = None
    reason: str = ""
    tail: str = ""


def arrivals(reports: Reports, unregistered: Iterable[Arrival]) -> tuple[Arrival, ...]:
    """Return all workers: the ready ones by rank, then the others."""
    came = [
        Arrival(member.id, "registered", rank, member.host, member.address)
        for rank, member in sorted(reports.ready.items())
    ]
    return (*came, *unregistered)


def missing_text(rows: Collection[Arrival]) -> str:
    """Describe the workers that came and, each reason once, the workers that are missing."""
    came = [each.worker for each in rows if each.state == "registered"]
    because: dict[str, list[str]] = {}
    for each in rows:
        if each.state != "registered":
            because.setdefault(each.reason, []).append(each.worker)
    known = [f"{_names(workers)}: {reason}" for reason, workers in because.items()]
    waiting = "; ".join(known) or "nothing is known of the others"
    return f"came: {_names(came) or 'none'}; {waiting}"


def silent_text(said: str) -> str:
    """Describe a worker that runs and does not register, by its last output."""
    last = said.rstrip().rpartition("\n")[2]
    return f"last wrote: {last}" if last else "has written nothing"


def _names(workers: list[str]) -> str:
    more = len(workers) - MOST_NAMES
    named = ", ".join(sorted(workers)[:MOST_NAMES])
    return f"{named} and {more} more" if more > 0 else named
