"""The key-value store of a gang on a cluster: skein's, in the application master."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from audioloom_yarn_launcher.rendezvous.kv import Equals, Put
from audioloom_yarn_launcher.yarn.skein_application import as_store_lost, import_skein


class SkeinStore:
    """A `KeyValueStore` of a skein application.

    A key vanishes some seconds after its owner's container has ended. The owner must be a running
    container.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._skein = import_skein()

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix, and their values."""
        with as_store_lost(ValueError):
            found = self._application.kv.get_prefix(prefix)
        return {key: value.decode() for key, value in found.items()}

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""
        with as_store_lost(ValueError):  # ValueError: the owner of a key has ended
            result = self._application.kv.transaction(
                conditions=[self._condition(each) for each in conditions],
                on_success=[self._operation(each) for each in operations],
            )
        return bool(result.succeeded)

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* in a separate thread after changes, and when the store is lost."""
        with as_store_lost(ValueError):
            events = self._application.kv.event_queue()
            events.subscribe(prefix=prefix)

        def listen() -> None:
            while True:
                try:
                    events.get()
                except Exception:  # noqa: BLE001 - the next call raises the error
                    hint()
                    return
                hint()

        threading.Thread(target=listen, name="hints", daemon=True).start()

    def _condition(self, condition: Equals) -> Any:
        if condition.value is None:
            return self._skein.kv.missing(condition.key)
        return self._skein.kv.value(condition.key) == condition.value.encode()

    def _operation(self, put: Put) -> Any:
        if put.value is None:
            return self._skein.kv.discard(put.key)
        return self._skein.kv.put(put.key, put.value.encode(), owner=put.owner)
