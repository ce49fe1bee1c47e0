"""The interfaces of a backend: its store, its workers, and how far each of them has come.

The store has the interface of skein's, so that an application master's store can replace the local
one. A key may have an owner and vanishes with it. A transaction applies all of its operations or
none. A subscription only hints at a change: the receiver reads the keys again, and no decision
depends on which events came, or in which order.

If a gang was not complete in time, the rows of its arrivals make the sentence of the cause, the
record of the attempt and the table of `status`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from audioloom_yarn_launcher.rendezvous.causes import WorkerLost
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


class Equals(NamedTuple):
    """The condition that a key has this value, or with None that it does not exist."""

    key: str
    value: str | None


class Put(NamedTuple):
    """Set a key, or remove it (None); a key with an owner vanishes when that worker is gone."""

    key: str
    value: str | None
    owner: str | None = None


class KeyValueStore(Protocol):
    """The store of a gang. Each call may raise `StoreLost`."""

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix and their values, at one moment."""

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after a key with the prefix has changed, or when the store is lost.

        Several changes may come as one call, from any thread.
        """


class Workers(Protocol):
    """The workers of a backend: local processes or containers; the loss of a worker is no error."""

    def request_missing(self) -> None:
        """Request as many workers as are missing; they start later or never."""

    def exited(self) -> dict[str, WorkerLost]:
        """Return the workers that ended without an order since the last `request_missing`."""

    def exit_reason(self, worker: str) -> WorkerLost:
        """Return how a worker was lost after its keys vanished; may wait a moment to find out."""

    def pending(self) -> int:
        """Return the number of requested workers without a process or container."""

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        """Return the state of each requested worker that is not registered; may take seconds."""

    def kill(self, worker: str) -> None:
        """Kill a worker that does not answer, and its processes."""

    def close(self) -> None:
        """Wait until all workers and their processes have ended, after the order to leave."""
