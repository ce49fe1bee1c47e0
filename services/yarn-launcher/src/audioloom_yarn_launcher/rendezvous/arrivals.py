"""How far each worker of a gang came that was not complete in time: who came, who hangs, and where.

The same rows make the sentence of the cause, the record of the attempt and the table of `status`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from audioloom_yarn_launcher.rendezvous.messages import Reports

State = Literal[
    "came",  # it holds an address, and waits for the others
    "silent",  # it has a place, and has not come
    "not-allocated",  # YARN has given it no container
    "ended",  # it ended before it came
]
MOST_NAMES = 3


@dataclass(frozen=True)
class Arrival:
    """How far a worker came.

    Args:
        worker: its id.
        state: in a word.
        rank: that it claimed, None if none.
        host: where it runs, "" if nowhere.
        address: that it holds, "" if none.
        since_s: for how long it has had its place, None if that is not known.
        reason: why it has not come, as far as anybody knows, without a full stop.
        tail: the last lines of what it said.
    """

    worker: str
    state: State
    rank: int | None = None
    host: str = ""
    address: str = ""
    since_s: float | None = None
    reason: str = ""
    tail: str = ""


def arrivals(reports: Reports, absent: Iterable[Arrival]) -> tuple[Arrival, ...]:
    """All workers: those that are ready, by rank, and then the others."""
    came = [
        Arrival(member.id, "came", rank, member.host, member.address)
        for rank, member in sorted(reports.ready.items())
    ]
    return (*came, *absent)


def missing_text(rows: Collection[Arrival]) -> str:
    """Who came and what is known of the others, each reason once."""
    came = [each.worker for each in rows if each.state == "came"]
    because: dict[str, list[str]] = {}
    for each in rows:
        if each.state != "came":
            because.setdefault(each.reason, []).append(each.worker)
    known = [f"{_names(workers)}: {reason}" for reason, workers in because.items()]
    waiting = "; ".join(known) or "nothing is known of the others"
    return f"came: {_names(came) or 'none'}; {waiting}"


def silent_text(said: str) -> str:
    """What a worker does that runs and does not come, to go on with a subject."""
    last = said.rstrip().rpartition("\n")[2]
    return f"last said: {last}" if last else "has said nothing"


def _names(workers: list[str]) -> str:
    more = len(workers) - MOST_NAMES
    named = ", ".join(sorted(workers)[:MOST_NAMES])
    return f"{named} and {more} more" if more > 0 else named
