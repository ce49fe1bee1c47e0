"""The store of a gang on this machine: a dictionary in the launcher's process."""

import threading
from collections.abc import Callable, Sequence

from audioloom_yarn_launcher.rendezvous.kv import Condition, Delete, Equals, Missing, Operation


class MemoryStore:
    """A `KeyValueStore` for the threads of one process; `kv_server` serves it to workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._hints: dict[str, dict[int, Callable[[], None]]] = {}
        self._subscriptions = 0

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix, and their values."""
        with self._lock:
            return {key: value for key, value in self._values.items() if key.startswith(prefix)}

    def transaction(self, conditions: Sequence[Condition], operations: Sequence[Operation]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""
        with self._lock:
            if not all(self._holds(condition) for condition in conditions):
                return False
            for operation in operations:
                self._apply(operation)
            hints = self._hints_for([operation.key for operation in operations])
        for hint in hints:
            hint()
        return True

    def drop_owner(self, owner: str) -> None:
        """Remove the keys of an owner that is gone."""
        with self._lock:
            keys = [key for key, holder in self._owners.items() if holder == owner]
            for key in keys:
                self._apply(Delete(key))
            hints = self._hints_for(keys)
        for hint in hints:
            hint()

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* after each change, in the thread that made the change."""
        self.watch(prefix, hint)

    def watch(self, prefix: str, hint: Callable[[], None]) -> Callable[[], None]:
        """Subscribe as `subscribe` does; return a function that ends the subscription."""
        with self._lock:
            self._subscriptions += 1
            number = self._subscriptions
            self._hints.setdefault(prefix, {})[number] = hint

        def end() -> None:
            with self._lock:
                self._hints[prefix].pop(number, None)

        return end

    def _holds(self, condition: Condition) -> bool:
        match condition:
            case Missing(key):
                return key not in self._values
            case Equals(key, value):
                return self._values.get(key) == value

    def _apply(self, operation: Operation) -> None:
        self._owners.pop(operation.key, None)
        if isinstance(operation, Delete):
            self._values.pop(operation.key, None)
            return
        self._values[operation.key] = operation.value
        if operation.owner is not None:
            self._owners[operation.key] = operation.owner

    def _hints_for(self, keys: Sequence[str]) -> list[Callable[[], None]]:
        return [
            hint
            for prefix, hints in self._hints.items()  # few, however many subscribe
            if any(key.startswith(prefix) for key in keys)
            for hint in hints.values()
        ]
