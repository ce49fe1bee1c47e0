"""The operations of a gang's key-value store that the launcher needs.

The interface is that of skein's store, so that an application master's store can replace the local
one. A key may have an owner and vanishes with it. A transaction applies all of its operations or
none. A subscription only hints at a change: the receiver reads the keys again, and no decision
depends on which events came, or in which order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Missing:
    """The condition that a key does not exist."""

    key: str


@dataclass(frozen=True)
class Equals:
    """The condition that a key has this value."""

    key: str
    value: str


@dataclass(frozen=True)
class Put:
    """Set a key; a key with an owner vanishes when that worker is gone."""

    key: str
    value: str
    owner: str | None = None


@dataclass(frozen=True)
class Delete:
    """Remove a key, if it exists."""

    key: str


Condition = Missing | Equals
Operation = Put | Delete


class KeyValueStore(Protocol):
    """The store of a gang. Each call may raise `StoreLost`."""

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix and their values, at one moment."""

    def transaction(self, conditions: Sequence[Condition], operations: Sequence[Operation]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after a key with the prefix has changed, or when the store is lost.

        Several changes may come as one call, from any thread.
        """
