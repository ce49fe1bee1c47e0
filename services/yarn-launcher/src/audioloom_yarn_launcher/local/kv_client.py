"""The worker's end of the connection to the launcher's store; `kv_server` has the other end.

It is separate so that a worker starts in a tenth of a second, without the server's imports.
"""

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put


class StoreClient:
    """A `KeyValueStore` over the connection that the launcher gave this worker."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._calls = threading.Lock()
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._hints: list[Callable[[], None]] = []
        threading.Thread(target=self._read, name="store", daemon=True).start()

    def get_prefix(self, prefix: str) -> dict[str, str]:
        """Return all keys with the prefix, and their values."""
        keys: dict[str, str] = self._call({"get": prefix})["keys"]
        return keys

    def transaction(self, conditions: Sequence[Equals], operations: Sequence[Put]) -> bool:
        """Apply the operations if all conditions hold; return whether they did."""
        return bool(self._call({"if": conditions, "do": operations})["done"])

    def subscribe(self, prefix: str, hint: Callable[[], None]) -> None:
        """Call *hint* in the reading thread after changes, and when the store is lost."""
        self._hints.append(hint)
        self._call({"subscribe": prefix})

    def close(self) -> None:
        """Close the connection; the keys that this worker owns vanish."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._calls:
            try:
                self._connection.sendall(json.dumps(request).encode() + b"\n")
            except OSError as error:
                raise StoreLost(str(error)) from error
            answer = self._answers.get()
            if answer is None:
                self._answers.put(None)  # wakes the next call
                raise StoreLost("the launcher closed the connection")
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._connection.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "hint" not in message:
                    self._answers.put(message)
                    continue
                for hint in self._hints:
                    hint()
        self._answers.put(None)
        for hint in self._hints:
            hint()
