"""The key-value store that a gang meets in: what the launcher needs of one, and no more.

The shape is that of skein's store, so that the one in an application master can stand in for the
local one: keys may have an owner and vanish with it, a transaction applies all of its operations
or none, and a subscription only hints that something changed. Whoever is woken by a hint reads the
keys again; no decision rests on which events came, or in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Missing:
    """Holds while nobody has put the key."""

    key: str


@dataclass(frozen=True)
class Equals:
    """Holds while the key has this value."""

    key: str
    value: str


@dataclass(frozen=True)
class Put:
    """Set a key. With an owner, it vanishes as soon as that worker is gone."""

    key: str
    value: str
    owner: str | None = None


@dataclass(frozen=True)
class Delete:
    """Remove a key, if it is there."""

    key: str


Condition = Missing | Equals
Operation = Put | Delete


class KeyValueStore(Protocol):
    """The store as a worker or the coordinator sees it. Each call may raise `StoreLost`."""

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """All keys that start so, with their values, as they were at one moment."""

    def transaction(self, conditions: Sequence[Condition], operations: Sequence[Operation]) -> bool:
        """Apply the operations if all conditions hold; whether they did."""

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after a key that starts so has changed, or when the store is lost.

        Several changes may come as one call, from any thread.
        """
