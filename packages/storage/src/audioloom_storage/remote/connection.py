"""Connections of this process to a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from audioloom_storage.location import Location
from audioloom_storage.remote.retry import Retry

T = TypeVar("T")
Client = TypeVar("Client")


class Connection(ABC, Generic[Client]):
    """A connection to a cluster, which lasts as long as the process."""

    def __init__(self) -> None:
        self.retry = Retry()
        self.user = ""  # not known yet

    @abstractmethod
    def attempt(
        self, location: Location, ask: Callable[[Client], T], *, looking: bool = False
    ) -> T:
        """Ask once and return the answer."""

    def call(self, location: Location, ask: Callable[[Client], T], *, looking: bool = False) -> T:
        """Ask a question that may be asked twice, and repeat it as `Retry` says.

        Args:
            location: the location that the question is about.
            ask: puts the question to a client.
            looking: it looks for something, so a parent that is no folder means "not found".
        """
        return self.retry.run(lambda: self.attempt(location, ask, looking=looking))
