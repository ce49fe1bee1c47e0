"""The shards that a reader will hold, in its order: the next that is missing, the last needed."""

from collections import deque
from collections.abc import Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

from audioloom_trainer.shards.shard_set import Shard

# Number of future needs searched for the next use of a copy before its eviction.
_LOOK_AHEAD = 100_000
# Being further ahead would shorten no wait, but cost processor time.
_MOST_READY = 4096


class NotNeeded(RuntimeError):
    """A shard was named that no need names, or that has to wait for an earlier one."""


class Needs:
    """Every shard that was not held yet, in reading order; may be endless.

    Shards are told apart by their SHA-256: equal ones share a copy.
    """

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._rest = iter(shards)
        self._ahead: deque[Shard] = deque()
        self._known = 0  # so many, from the first on, are not missing
        self._complete = False  # no more needs come than those ahead

    def __iter__(self) -> Iterator[Shard]:
        """Yield the needs, as many as are searched."""
        yield from self._ahead
        for shard in islice(self._rest, _LOOK_AHEAD - len(self._ahead)):
            self._ahead.append(shard)
            yield shard

    def place(self, shard: Shard) -> int:
        """Return how many needs come before the next one of a shard; NotNeeded if there is none."""
        for place, each in enumerate(self):
            if each.sha256 == shard.sha256:
                return place
        raise NotNeeded(f"shard {shard.number} of {shard.split}: no need names it")

    def meet(self, shard: Shard) -> None:
        """Remove the next need of a shard, because it is held now."""
        place = self.place(shard)
        del self._ahead[place]
        self._known -= place < self._known

    def first_missing(self, *known: Container[str]) -> Shard | None:
        """Return the first need that is in none of these; None if it is still far away.

        What was in one of them is not looked up again before `start_over`.
        """
        while self._known < _MOST_READY:
            if self._known == len(self._ahead):
                self._ahead.extend(islice(self._rest, 1))
            if self._known == len(self._ahead):
                self._complete = True
                break
            shard = self._ahead[self._known]
            if not any(shard.sha256 in each for each in known):
                return shard
            self._known += 1
        return None

    @property
    def is_searched(self) -> bool:
        """Whether the next search for a missing one can wait: enough needs are known, or all."""
        enough = self._known >= _MOST_READY // 2
        return enough or (self._complete and self._known == len(self._ahead))

    def start_over(self) -> None:
        """Look for missing shards from the first need on, because one that was known has gone."""
        self._known = 0

    def leads(self, shard: Shard, here: Container[str]) -> bool:
        """Return whether a shard is the first need that is not here."""
        missing = (each.sha256 for each in self if each.sha256 not in here)
        return next(missing, None) == shard.sha256

    def last_needed(self, copies: AbstractSet[str], place: int) -> str | None:
        """Return the one of some copies whose next use lies furthest ahead.

        None if they are all needed up to that place.
        """
        left = set(copies)
        for number, shard in enumerate(self):
            if number > place and len(left) <= 1:
                break
            left.discard(shard.sha256)
        return min(left, default=None)
