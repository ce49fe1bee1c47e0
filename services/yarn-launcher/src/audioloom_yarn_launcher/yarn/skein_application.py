"""The module skein, and the application of this container: its client and its key-value store.

A frozen application master keeps its connections open. Without a deadline for each call, a caller
would wait for minutes until YARN ends that master, and not notice that it is alone.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put

ANSWER_WITHIN_S = 30.0
HINT_EVERY_S = 1.0
_STREAM = "Watch"
"""The call that brings events for as long as the application lives."""


def import_skein() -> Any:
    """Import `skein`, as late as possible: it takes half a second and prints a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it imports distutils
        import skein  # noqa: PLC0415
        import skein.exceptions  # noqa: PLC0415
        import skein.kv  # noqa: PLC0415
    return skein


@contextmanager
def as_store_lost(*more: type[Exception]) -> Iterator[None]:
    """Raise `StoreLost` for skein's errors: without the application master there is no gang."""
    try:
        yield
    except (import_skein().exceptions.SkeinError, *more) as error:
        raise StoreLost(str(error)) from error


def current_application() -> Any:
    """Return the `skein.ApplicationClient` of this container's application.

    ValueError or FileNotFoundError in a process that runs in no skein container.
    """
    return client_kind(ANSWER_WITHIN_S).from_current()


def client_kind(within_s: float) -> Any:
    """Make a kind of `skein.ApplicationClient` whose calls time out after *within_s* seconds."""

    class Client(import_skein().ApplicationClient):  # type: ignore[misc]
        __slots__ = ()

        def _call(self, method: str, request: Any, timeout: float | None = None) -> Any:
            if timeout is None and method != _STREAM:
                timeout = within_s
            return super()._call(method, request, timeout=timeout)

    return Client


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
        kv = self._skein.kv
        conditions = [
            kv.missing(key) if value is None else kv.value(key) == value.encode()
            for key, value in conditions
        ]
        on_success = [
            kv.discard(key) if value is None else kv.put(key, value.encode(), owner=owner)
            for key, value, owner in operations
        ]
        with as_store_lost(ValueError):  # ValueError: the owner of a key has ended
            result = self._application.kv.transaction(conditions=conditions, on_success=on_success)
        return bool(result.succeeded)

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* in a separate thread after changes.

        If the stream of events breaks, the thread calls it every second from then on.
        """
        with as_store_lost(ValueError):
            events = self._application.kv.event_queue()
            events.subscribe(prefix=prefix)

        def listen() -> None:
            while True:
                try:
                    events.get()
                except Exception:  # noqa: BLE001 - the caller's next call tells whether it is lost
                    time.sleep(HINT_EVERY_S)
                hint()

        threading.Thread(target=listen, name="hints", daemon=True).start()
