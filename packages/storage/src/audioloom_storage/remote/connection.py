"""What this process knows of one cluster, and how it asks it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from audioloom_storage.location import Location
from audioloom_storage.remote.retry import Retry

T = TypeVar("T")
Client = TypeVar("Client")


class Connection(ABC, Generic[Client]):
    """A way to a cluster, which lasts as long as the process."""

    def __init__(self) -> None:
        self.retry = Retry()
        self.user = ""  # not known yet

    @abstractmethod
    def attempt(
        self, location: Location, ask: Callable[[Client], T], *, looking: bool = False
    ) -> T:
        """The answer to a question that is asked once."""

    def call(self, location: Location, ask: Callable[[Client], T], *, looking: bool = False) -> T:
        """The answer to a question that may be asked twice, repeated as `Retry` says.

        Args:
            location: what the question is about.
            ask: puts it to a client.
            looking: it looks for something, so a parent that is no folder means "not found".
        """
        return self.retry.run(lambda: self.attempt(location, ask, looking=looking))
