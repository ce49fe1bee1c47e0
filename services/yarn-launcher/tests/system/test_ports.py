import socket

import pytest
from audioloom_yarn_launcher.system import ports


def test_a_held_port_is_kept_from_others() -> None:
    """On every address, also for those that ask for reuse of addresses only."""
    with ports.hold() as held:
        number = held.getsockname()[1]
        for host in ("127.0.0.1", ""):
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with pytest.raises(OSError, match="in use"):
                    other.bind((host, number))


def test_a_free_port_can_be_bound_by_who_asks_for_nothing() -> None:
    """It is not held: what is told of it may be late."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", ports.free()))


def test_a_server_that_asks_for_reuse_gets_all_connections() -> None:
    """The holder never listens, so none is lost to it."""
    with ports.hold() as held, socket.socket() as server:
        number = held.getsockname()[1]
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("0.0.0.0", number))  # noqa: S104 - as TensorFlow's server does
        server.listen()
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", number), timeout=20) as client:
                accepted, _ = server.accept()
                accepted.close()
                assert b"" == client.recv(1)


def test_without_ipv6_it_is_held_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers often have none."""
    real = socket.socket

    def no_ipv6(family: int, *rest: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError("Address family not supported by protocol")
        return real(family, *rest)

    monkeypatch.setattr(socket, "socket", no_ipv6)
    with ports.hold() as held:
        assert socket.AF_INET == held.family


@pytest.mark.parametrize(
    ("host", "expected"),
    [("node-7", "node-7:{}"), ("::1", "[::1]:{}"), ("10.0.0.1", "10.0.0.1:{}")],
)
def test_an_address_is_host_and_port(host: str, expected: str) -> None:
    """An IPv6 address stands in brackets."""
    with ports.hold() as held:
        assert expected.format(held.getsockname()[1]) == ports.address(host, held)
