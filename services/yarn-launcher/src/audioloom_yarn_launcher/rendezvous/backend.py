"""The interface by which the coordinator asks a backend for workers."""

from collections.abc import Collection
from typing import Protocol

from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost


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
