"""The operations of a gang's key-value store that the launcher needs.

The interface is that of skein's store, so that an application master's store can replace the local
one. A key may have an owner and vanishes with it. A transaction applies all of its operations or
none. A subscription only hints at a change: the receiver reads the keys again, and no decision
depends on which events came, or in which order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class Equals(NamedTuple):
    """The condition that a key has this value, or with None that it does not exist."""

    key: str
    value: str | None


class Put(NamedTuple):
    """Set a key, or remove it (None); a key with an owner vanishes when that worker is gone."""

    key: str
    value: str | None
    owner: str | None = None


class KeyValueStore(Protocol):
    """The store of a gang. Each call may raise `StoreLost`."""

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix and their values, at one moment."""

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after a key with the prefix has changed, or when the store is lost.

        Several changes may come as one call, from any thread.
        """
