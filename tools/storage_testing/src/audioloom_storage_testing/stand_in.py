"""What stands before the storages of a process, or in for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from audioloom_storage.backend.protocol import Backend
from audioloom_storage.registry import put_between


class StandIn(ABC):
    """A way to the storages that a test can install."""

    @abstractmethod
    def between(self, backend: Backend) -> Backend:
        """The storage that is used instead of that one."""

    @contextmanager
    def installed(self) -> Iterator[Self]:
        """Stand there in this process until the block ends."""
        before = put_between(self.between)
        try:
            yield self
        finally:
            put_between(before)
