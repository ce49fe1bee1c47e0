"""A storage in memory that counts the calls which a client of HDFS would make to its NameNode."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from audioloom_storage import Entry, Location, NotFound
from audioloom_storage_testing.memory import MemoryStore

NAMES_A_CALL = 1000


class CountingStore(MemoryStore):
    """Files in memory.

    Args:
        clock: returns the time of a call, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__()
        self._clock = clock
        self._below: dict[Location, set[Location]] = defaultdict(set)
        self._lock = threading.Lock()  # logs are read by several threads
        self.calls: Counter[int] = Counter()
        """How many calls there were in each second."""

    @property
    def total(self) -> int:
        """All calls so far."""
        return sum(self.calls.values())

    def most_in(self, seconds: int) -> int:
        """The most calls in a span of so many seconds that begins at a multiple of them."""
        spans: Counter[int] = Counter()
        for second, count in self.calls.items():
            spans[second // seconds] += count
        return max(spans.values())

    def stat(self, location: Location) -> Entry:
        """One call."""
        self._count(1)
        return super().stat(location)

    def list_folder(self, location: Location) -> Iterator[Entry]:
        """One call for a thousand names."""
        self._count(1 + len(self._below[location]) // NAMES_A_CALL)
        super().stat(location)
        return iter([super(CountingStore, self).stat(e) for e in sorted(self._below[location])])

    def open_read(self, location: Location) -> BinaryIO:
        """One call; the bytes come from elsewhere."""
        self._count(1)
        return super().open_read(location)

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> Any:
        """Create a file, get a block for it, and complete it."""
        try:
            writer = super().start(temporary, private=private, replication=replication)
        except NotFound:
            self._count(1)
            raise
        self._count(3)
        return writer

    def rename(self, temporary: Location, target: Location) -> None:
        """One call."""
        self._count(1)
        super().rename(temporary, target)
        self._below[target.parent].add(target)

    def make_folder(self, location: Location, *, private: bool) -> None:
        """One call, or two for a private folder."""
        self._count(2 if private else 1)
        super().make_folder(location, private=private)
        while location.path != "/":
            self._below[location.parent].add(location)
            location = location.parent

    def remove(self, location: Location, *, within: Location | None = None) -> None:
        """A look whether it is a file, then the removal."""
        self._count(2)
        super().remove(location, within=within)
        self._below[location.parent].discard(location)

    def _count(self, calls: int) -> None:
        with self._lock:
            self.calls[int(self._clock())] += calls
