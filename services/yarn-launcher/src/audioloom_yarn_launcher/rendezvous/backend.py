"""The interfaces of a backend, by which the coordinator asks for workers and all of a gang meet.

The store has the interface of skein's, so that an application master's store can replace the local
one. A key may have an owner and vanishes with it. A transaction applies all of its operations or
none. A subscription only hints at a change: the receiver reads the keys again, and no decision
depends on which events came, or in which order.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost


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
