import json
import queue
import socket
import threading
from collections.abc import Iterator

import pytest
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.local.kv_client import StoreClient
from audioloom_yarn_launcher.local.kv_server import StoreServer
from audioloom_yarn_launcher.local.kv_store import MemoryStore
from audioloom_yarn_launcher.rendezvous.backend import Equals, Put

PATIENCE_S = 20


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def server(store: MemoryStore) -> Iterator[StoreServer]:
    server = StoreServer(store)
    yield server
    server.close()


def gone(store: MemoryStore, key: str, change: queue.SimpleQueue[None]) -> bool:
    """Whether the key has vanished, waiting for hints as long as it has not."""
    while key in store.get_prefix(key):
        change.get(timeout=PATIENCE_S)
    return True


def test_a_worker_cannot_own_keys_as_another(store: MemoryStore, server: StoreServer) -> None:
    """The owner is who the connection was made for, and the refused transaction changes nothing."""
    client = StoreClient(server.admit("one"))
    with pytest.raises(ValueError, match="one cannot own keys as two"):
        client.transaction([], [Put("a", "1"), Put("b", "1", "two")])
    assert {} == store.get_prefix("")
    client.close()


@pytest.mark.parametrize(
    "line", [b"{}", b"[1]", b"nonsense", b'{"if": [["near"]], "do": []}', b'{"get": 1}']
)
def test_a_line_that_is_no_request_is_answered_with_an_error(
    server: StoreServer, line: bytes
) -> None:
    """The connection survives it."""
    with server.admit("one") as connection, connection.makefile("rwb") as lines:
        for request in (line, b'{"get": ""}'):
            lines.write(request + b"\n")
            lines.flush()
            answer = json.loads(lines.readline())
            assert ("error" in answer) == (request == line)


def test_a_client_sees_what_the_process_itself_sees(
    store: MemoryStore, server: StoreServer
) -> None:
    """Transactions of both sides meet in the same store."""
    client = StoreClient(server.admit("one"))
    store.transaction([], [Put("g", "0"), Put("h", "x")])
    assert client.transaction(
        [Equals("g", "0"), Equals("i", None)], [Put("g", "1"), Put("h", None)]
    )
    assert not client.transaction([Equals("g", None)], [Put("g", "2")])
    assert {"g": "1"} == client.get_prefix("") == store.get_prefix("")
    client.close()


def test_keys_vanish_with_the_connection(store: MemoryStore, server: StoreServer) -> None:
    """Owned keys go, the others stay, and whoever watches is told."""
    change: queue.SimpleQueue[None] = queue.SimpleQueue()
    store.subscribe("a/", lambda: change.put(None))
    client = StoreClient(server.admit("one"))
    client.transaction([], [Put("a/1", "1", "one"), Put("b/1", "1")])
    client.close()
    assert gone(store, "a/1", change)
    assert {"b/1": "1"} == store.get_prefix("")


def test_the_other_clients_are_hinted(store: MemoryStore, server: StoreServer) -> None:
    """A change by one worker wakes the subscribers of another."""
    one, two = StoreClient(server.admit("one")), StoreClient(server.admit("two"))
    change: queue.SimpleQueue[None] = queue.SimpleQueue()
    two.subscribe("a/", lambda: change.put(None))
    one.transaction([], [Put("a/1", "1")])
    change.get(timeout=PATIENCE_S)
    assert {"a/1": "1"} == two.get_prefix("a/")
    one.close()
    two.close()


def test_a_lost_store_wakes_and_then_refuses(store: MemoryStore) -> None:
    """A worker whose launcher is gone is hinted, and each further call says so."""
    server = StoreServer(store)
    client = StoreClient(server.admit("one"))
    change: queue.SimpleQueue[None] = queue.SimpleQueue()
    client.subscribe("a/", lambda: change.put(None))
    server.close()
    change.get(timeout=PATIENCE_S)
    for _ in range(2):
        with pytest.raises(StoreLost):
            client.get_prefix("")
    client.close()


def test_a_client_that_never_reads_holds_up_nobody(store: MemoryStore, server: StoreServer) -> None:
    """Its hints are folded once its buffers are full, and the others are served meanwhile."""
    with server.admit("stuck") as stuck, stuck.makefile("rb") as lines:
        stuck.sendall(b'{"subscribe": ""}\n')
        assert {"done": True} == json.loads(lines.readline())
        for number in range(20_000):
            store.transaction([], [Put("a", str(number))])
        client = StoreClient(server.admit("one"))
        client.transaction([], [Put("b", "last")])
        assert {"a": "19999", "b": "last"} == client.get_prefix("")
        client.close()
        stuck.sendall(b'{"get": "b"}\n')
        hints = 0
        while json.loads(lines.readline()) != {"keys": {"b": "last"}}:
            hints += 1
        assert 1 <= hints < 10_000


def test_one_of_many_racing_claims_wins(store: MemoryStore, server: StoreServer) -> None:
    """Sixteen workers that claim four ranks at once get one each, and four are held in the end."""
    clients = [StoreClient(server.admit(f"w{number}")) for number in range(16)]
    won: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    start = threading.Barrier(len(clients))

    def claim(client: StoreClient, name: str) -> None:
        start.wait(PATIENCE_S)
        for rank in range(4):
            key = f"rank/{rank}"
            if client.transaction([Equals(key, None)], [Put(key, name, name)]):
                won.put((key, name))
                return

    threads = [
        threading.Thread(target=claim, args=(client, f"w{number}"))
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    winners = dict(won.get() for _ in range(won.qsize()))
    assert 4 == len(winners)
    assert winners == store.get_prefix("rank/")
    for client in clients:
        client.close()


def test_admitting_makes_no_address(server: StoreServer) -> None:
    """The worker's end is an unnamed local socket: nobody else can connect."""
    with server.admit("one") as connection:
        assert socket.AF_UNIX == connection.family
        assert "" == connection.getsockname()
