r"""The launcher's store, served to the workers that it started on this machine.

Each worker gets one end of a socket pair when it is started: there is no address that a stranger
could connect to, no secret that could leak, and nothing to clean up. When a worker's end closes,
for any reason, its keys vanish; when the launcher's end closes, the worker knows that it is
alone. One JSON object a line, both ways:

    → {"get": "gang/order/"}                                  ← {"keys": {"gang/order/plan": "…"}}
    → {"if": [["a", null], ["b", "1"]],
       "do": [["a", "x", "worker-1"], ["b", null, null]]}     ← {"done": true}
    → {"subscribe": "gang/order/"}                            ← {"done": true}
    anything else                                             ← {"error": "…"}
                                                              ← {"hint": true}   at any time

A worker that does not read delays nobody: its hints are merged into one pending hint.
"""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put

MOST_LINE_BYTES = 8 << 20
"""A membership of 10,000 workers is under 2 MiB."""


class StoreServer:
    """A thread that serves *store* to the admitted workers."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._connections: dict[str, asyncio.Task[None]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="store", daemon=True)
        self._thread.start()

    def admit(self, owner: str) -> socket.socket:
        """Open a connection for a worker that may own keys under this name; return its end."""
        ours, theirs = socket.socketpair()
        ours.settimeout(0)  # asyncio needs a non-blocking socket
        asyncio.run_coroutine_threadsafe(self._start(ours, owner), self._loop).result()
        return theirs

    def close(self) -> None:
        """End all connections and the thread."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self, ours: socket.socket, owner: str) -> None:
        task = self._loop.create_task(self._serve(ours, owner))
        self._connections[owner] = task
        task.add_done_callback(lambda _: self._connections.pop(owner, None))

    async def _stop(self) -> None:
        tasks = list(self._connections.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, ours: socket.socket, owner: str) -> None:
        reader, writer = await asyncio.open_connection(sock=ours, limit=MOST_LINE_BYTES)
        changed = asyncio.Event()
        hints = self._loop.create_task(_send_hints(writer, changed))
        watched: list[str] = []

        def hint() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, the store has not
                self._loop.call_soon_threadsafe(changed.set)

        try:
            while line := await reader.readline():
                answer = _answer(self._store, owner, line, hint, watched)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):  # the connection closed, or a line is too long
            pass
        finally:
            for prefix in watched:
                self._store.unsubscribe(prefix, hint)
            hints.cancel()
            self._store.drop_owner(owner)
            writer.close()


async def _send_hints(writer: asyncio.StreamWriter, changed: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while await changed.wait():
            changed.clear()
            writer.write(b'{"hint": true}\n')
            await writer.drain()


def _answer(
    store: MemoryStore,
    owner: str,
    line: bytes,
    hint: Callable[[], None],
    watched: list[str],
) -> dict[str, Any]:
    try:
        match json.loads(line):
            case {"get": str(prefix)}:
                return {"keys": store.get_prefix(prefix)}
            case {"subscribe": str(prefix)}:
                store.subscribe(prefix, hint)
                watched.append(prefix)
                return {"done": True}
            case {"if": list(conditions), "do": list(operations)}:
                asked = [_put(parts, owner) for parts in operations]
                return {"done": store.transaction([_equals(parts) for parts in conditions], asked)}
    except ValueError as error:
        return {"error": str(error)}
    return {"error": f"expected get, subscribe or if and do, found {line[:200]!r}"}


def _equals(parts: Any) -> Equals:
    match parts:
        case [str(key), str() | None as value]:
            return Equals(key, value)
    raise ValueError(f"expected a condition, found {parts!r}")


def _put(parts: Any, owner: str) -> Put:
    match parts:
        case [str(key), str() | None as value, str() | None as named]:
            if named not in (None, owner):
                raise ValueError(f"{owner} cannot own keys as {named}")
            return Put(key, value, named)
    raise ValueError(f"expected an operation, found {parts!r}")
