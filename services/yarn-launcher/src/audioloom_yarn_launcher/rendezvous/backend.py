"""The interface by which the coordinator asks a backend for workers."""

from collections.abc import Collection
from typing import Protocol

from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import WorkerLost


class Workers(Protocol):
    """Processes on this machine, or containers of a cluster. A lost worker is no error here."""

    def request_missing(self) -> None:
        """Request as many workers as are missing. They start later, or never."""

    def exited(self) -> dict[str, WorkerLost]:
        """The workers that ended without an order since the last `request_missing`."""

    def exit_reason(self, worker: str) -> WorkerLost:
        """How a worker was lost whose keys have vanished; may wait a moment to find out."""

    def pending(self) -> int:
        """Number of requested workers that have no process or container yet."""

    def unregistered(self, registered: Collection[str]) -> list[Arrival]:
        """What is known of each requested worker that is not registered. May take seconds."""

    def kill(self, worker: str) -> None:
        """Kill a worker that does not answer, and its processes."""

    def close(self) -> None:
        """Wait until all workers and their processes have ended, after the order to leave."""
