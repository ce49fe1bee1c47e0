"""The store of a gang on this machine: a dictionary in the launcher's process."""

import threading
from collections.abc import Callable, Sequence

from audioloom_yarn_launcher.rendezvous.backend import Equals, Put


class MemoryStore:
    """A `KeyValueStore` for the threads of one process; `kv_server` serves it to workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._hints: dict[str, list[Callable[[], None]]] = {}

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix, and their values."""
        with self._lock:
            return {key: value for key, value in self._values.items() if key.startswith(prefix)}

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""
        with self._lock:
            if any(self._values.get(key) != value for key, value in conditions):
                return False
            hints = self._apply(operations)
        for hint in hints:
            hint()
        return True

    def drop_owner(self, owner: str) -> None:
        """Remove the keys of an owner that is gone."""
        with self._lock:
            keys = [key for key, holder in self._owners.items() if holder == owner]
            hints = self._apply([Put(key, None) for key in keys])
        for hint in hints:
            hint()

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after each change, in the thread that made the change."""
        with self._lock:
            self._hints.setdefault(prefix, []).append(hint)

    def unsubscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """End a subscription."""
        with self._lock:
            self._hints[prefix].remove(hint)

    def _apply(self, operations: Sequence[Put]) -> list[Callable[[], None]]:
        """Apply the operations; return the hints that they cause."""
        for key, value, owner in operations:
            self._owners.pop(key, None)
            self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
            if owner is not None:
                self._owners[key] = owner
        return [
            hint
            for prefix, hints in self._hints.items()  # few, however many subscribe
            if any(put.key.startswith(prefix) for put in operations)
            for hint in hints
        ]
