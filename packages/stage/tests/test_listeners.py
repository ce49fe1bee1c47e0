import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from audioloom_stage.listeners import Listener, open_to_others

HERE = os.getpid()
OTHER = """
import socket, sys
server = socket.create_server(("", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other() -> Iterator[tuple[int, int]]:
    """Another process that listens at every address: its id and its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process.pid, int(process.stdout.readline())
    process.communicate()


@pytest.mark.parametrize(
    ("family", "address", "shown"),
    [
        (socket.AF_INET, "0.0.0.0", "0.0.0.0"),  # noqa: S104
        (socket.AF_INET6, "::", "::"),
        (socket.AF_INET6, "::ffff:0.0.0.0", "0.0.0.0"),  # noqa: S104
    ],
)
def test_what_listens_at_every_address_is_open(
    family: socket.AddressFamily, address: str, shown: str
) -> None:
    """Also where the program's own address is known: it is one of them."""
    with socket.socket(family) as server:
        server.bind((address, 0))
        assert [] == open_to_others([HERE], ["127.0.0.1"])
        server.listen()
        port = server.getsockname()[1]
        assert [Listener(HERE, shown, port)] == open_to_others([HERE], ["127.0.0.1"])
        assert f"every address, port {port}" == str(Listener(HERE, shown, port))
    assert [] == open_to_others([HERE], [])


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.7", "::1", "::ffff:127.0.0.1"])
def test_what_listens_for_this_machine_is_not_open(address: str) -> None:
    """Whatever its address is called."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        server.bind((address, 0))
        server.listen()
        assert [] == open_to_others([HERE], [])


def test_a_known_address_is_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is where others are told to come to."""
    table = "  sl  local_address\n   0: 0A00020F:1F90 00000000:0000 0A 0 00 0 0 0 {} 1"
    with socket.create_server(("127.0.0.1", 0)) as server:
        inode = os.fstat(server.fileno()).st_ino
        where = "audioloom_stage.listeners.Path.read_text"
        monkeypatch.setattr(where, lambda path: table.format(inode) if path.name == "tcp" else "")
        at = "15.2.0.10" if sys.byteorder == "little" else "10.0.2.15"
        assert [Listener(HERE, at, 8080)] == open_to_others([HERE], ["127.0.0.1"])
        assert f"{at}, port 8080" == str(Listener(HERE, at, 8080))
        assert [] == open_to_others([HERE], [at])


def test_the_processes_that_are_asked_for_count(other: tuple[int, int]) -> None:
    """Another one's sockets are not its own; one that is gone has none."""
    pid, port = other
    assert [] == open_to_others([HERE], [])
    assert [Listener(pid, "0.0.0.0", port)] == open_to_others([HERE, pid], [])  # noqa: S104
    assert [] == open_to_others([2**22 + 1], [])
