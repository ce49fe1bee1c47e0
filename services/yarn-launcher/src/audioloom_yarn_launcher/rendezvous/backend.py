"""Where workers come from: what the coordinator asks of a place that can run them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.rendezvous.causes import Loss


class Workers(Protocol):
    """Processes on this machine, or containers of a cluster. A lost worker is no failure here."""

    def fill(self) -> None:
        """Ask for as many workers as are missing. They come, or they do not, in their own time."""

    def lost(self) -> dict[str, Loss]:
        """The workers that have ended and were not told to, and how, since the last `fill`."""

    def why_gone(self, worker: str) -> Loss:
        """What happened to a worker whose keys have vanished; may wait a moment to find out."""

    def unplaced(self) -> int:
        """How many workers that were asked for have no place to run in yet."""

    def absent(self, present: Collection[str]) -> list[Arrival]:
        """Each worker that was asked for and is not *present*: where it hangs. May take seconds."""

    def kill(self, worker: str) -> None:
        """End a worker that does not answer, and what it runs."""

    def close(self) -> None:
        """See that all have ended, and all that they ran. They were told to leave before."""
