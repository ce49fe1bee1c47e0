import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_yarn_launcher.system import addresses
from audioloom_yarn_launcher.system.addresses import (
    NoAddress,
    check_address,
    own_address,
    own_addresses,
)


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "ten/8", "fd00::/8"])
def test_what_is_no_network_is_refused(text: str) -> None:
    """Also an address with a length, of which nobody knows what is meant."""
    with pytest.raises(ValueError, match=r"expected a network such as 10\.0\.0\.0/8"):
        check_address(text)


def test_a_machine_without_an_address_there_says_which_it_has() -> None:
    """240.0.0.0/4 is in use nowhere."""
    with pytest.raises(NoAddress, match=r"has no address in 240\.0\.0\.0/4, only .*127\.0\.0\.1"):
        own_address("240.0.0.0/4")


def test_the_address_in_a_network_is_found() -> None:
    """Each is one that a server here can listen on."""
    assert "127.0.0.1" == own_address("127.0.0.0/8")
    for address in own_addresses():
        assert address == own_address(f"{address}/32")
        with socket.socket() as server:
            server.bind((address, 0))


def test_a_name_is_no_network() -> None:
    """It is taken as it stands."""
    for text in ("{node}", "10.0.0.1"):
        assert text == own_address(text) == check_address(text)
    assert "10.0.0.0/8" == check_address("10.0.0.0/8")


def test_a_held_port_is_kept_from_others() -> None:
    """On every address, also for those that ask for reuse of addresses only."""
    with addresses.hold_port() as held:
        number = held.getsockname()[1]
        for host in ("127.0.0.1", ""):
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with pytest.raises(OSError, match="in use"):
                    other.bind((host, number))


def test_a_free_port_can_be_bound_by_who_asks_for_nothing() -> None:
    """It is not held: what is told of it may be late."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", addresses.free_port()))


def test_a_server_that_asks_for_reuse_gets_all_connections() -> None:
    """The holder never listens, so none is lost to it."""
    with addresses.hold_port() as held, socket.socket() as server:
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
    with addresses.hold_port() as held:
        assert socket.AF_INET == held.family


@pytest.mark.parametrize(
    ("host", "expected"),
    [("node-7", "node-7:{}"), ("::1", "[::1]:{}"), ("10.0.0.1", "10.0.0.1:{}")],
)
def test_an_address_is_host_and_port(host: str, expected: str) -> None:
    """An IPv6 address stands in brackets."""
    with addresses.hold_port() as held:
        assert expected.format(held.getsockname()[1]) == addresses.address_of(host, held)


PROGRAM = """
import json, socket, sys
family, address, port, *options = json.loads(sys.argv[1])
kind = socket.SOCK_DGRAM if "udp" in options else socket.SOCK_STREAM
server = socket.socket(getattr(socket, family), kind)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
if family == "AF_INET6":
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, "alone" in options)
if address is not None:
    server.bind((address, port))
if kind == socket.SOCK_STREAM:
    server.listen()
print(json.dumps(server.getsockname()[:2]), flush=True)
sys.stdin.read()
"""
HERE, ELSEWHERE = "127.0.0.3", "127.0.0.2"


def listen_at(address: str, family: str, bound: str | None, *options: str) -> str:
    """Where a server listens that was bound so: at any port, or "held", at one that a worker holds.

    Args:
        address: that the library is given.
        family: of the server's socket.
        bound: the address that it asks for, None if it does not bind.
        options: "alone", IPv6 without IPv4; "udp"; "held".
    """
    held = addresses.hold_port()
    wanted = held.getsockname()[1] if "held" in options else 0
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps([family, bound, wanted, *options])],
        env=addresses.Binding(address).variables(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    where, found = json.loads(process.stdout.readline())
    process.communicate()
    held.close()
    assert wanted in (0, found)
    return str(where)


@pytest.mark.parametrize("bound", ["0.0.0.0", None])  # noqa: S104
@pytest.mark.parametrize("given", [HERE, ELSEWHERE])
def test_a_server_at_every_address_listens_at_one(given: str, bound: str | None) -> None:
    """At any port, at the one that its worker holds, and without having been bound."""
    assert given == listen_at(given, "AF_INET", bound)
    if bound is not None:
        assert given == listen_at(given, "AF_INET", bound, "held")


@pytest.mark.parametrize("bound", ["::", "::ffff:0.0.0.0", None])
def test_a_server_of_both_families_listens_at_one(bound: str | None) -> None:
    """As TensorFlow's does; and of IPv6 alone, which cannot take the address, at the loopback."""
    assert f"::ffff:{HERE}" == listen_at(HERE, "AF_INET6", bound)
    if bound == "::":
        assert f"::ffff:{HERE}" == listen_at(HERE, "AF_INET6", bound, "held")
        assert "::1" == listen_at(HERE, "AF_INET6", bound, "alone")
        assert "::1" == listen_at("::1", "AF_INET6", bound)


@pytest.mark.parametrize(
    ("given", "family", "bound", "options", "expected"),
    [
        (HERE, "AF_INET", ELSEWHERE, (), ELSEWHERE),
        (HERE, "AF_INET6", "::1", (), "::1"),
        (HERE, "AF_INET", "0.0.0.0", ("udp",), "0.0.0.0"),  # noqa: S104
        (HERE, "AF_INET6", "::", ("udp",), "::"),
        ("no address", "AF_INET", "0.0.0.0", (), "0.0.0.0"),  # noqa: S104
    ],
)
def test_what_a_program_chose_itself_stays(
    given: str, family: str, bound: str, options: tuple[str, ...], expected: str
) -> None:
    """An address of its own, and sockets by which nobody connects."""
    assert expected == listen_at(given, family, bound, *options)


def test_the_library_of_others_stays() -> None:
    """Another library that the command is started with comes first."""
    variables = addresses.Binding(HERE).variables({"LD_PRELOAD": "/usr/lib/other.so"})
    assert f"/usr/lib/other.so:{addresses.LIBRARY}" == variables["LD_PRELOAD"]
    assert variables["AUDIOLOOM_BIND_ADDRESS"] == HERE


def test_the_library_needs_no_young_glibc() -> None:
    """Nodes may have the one of 2012."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", addresses.LIBRARY.read_bytes())
    assert found
    assert max((int(major), int(minor)) for major, minor in found) <= (2, 17)


def test_an_address_of_this_machine_is_bound() -> None:
    """As it was given, and what a name of the loopback leads to."""
    assert HERE == addresses.address_to_bind(HERE)
    assert "127.0.0.1" == addresses.address_to_bind("localhost")


@pytest.mark.parametrize(
    ("advertised", "why"),
    [
        ("240.0.0.1", "240.0.0.1 is not an address of this machine"),
        ("a..name", "the name leads to no address here"),
        ("0.0.0.0", "0.0.0.0 is every address of this machine"),  # noqa: S104
        ("::", ":: is every address of this machine"),
        ("fe80::1%lo", "not an address of this machine"),
    ],
)
def test_where_it_cannot_be_bound_there_is_a_reason(advertised: str, why: str) -> None:
    """An address behind NAT, none at all, every one, and one that is an interface's alone."""
    with pytest.raises(addresses.Exposed, match=re.escape(why)):
        addresses.address_to_bind(advertised)


def test_a_name_that_only_others_know_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a gateway; no name server is asked here."""

    def look_up(*_: object, **__: object) -> list[object]:
        raise addresses.socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(addresses.socket, "getaddrinfo", look_up)
    with pytest.raises(addresses.Exposed, match=r"gate: the name leads to no address here \("):
        addresses.address_to_bind("gate")


def test_a_name_that_leads_to_the_loopback_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's own name leads to 127.0.1.1, at which no other node reaches this one."""

    def look_up(*_: object, **__: object) -> list[object]:
        return [(2, 1, 6, "", ("127.0.1.1", 0))]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", look_up)
    with pytest.raises(addresses.Exposed, match=r"node-7 leads to 127\.0\.1\.1 here"):
        addresses.address_to_bind("node-7")


def test_without_the_library_there_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Built for another system, or installed where LD_PRELOAD cannot name it."""
    monkeypatch.setattr(addresses, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(addresses.Exposed, match=r"was built without .*none\.so"):
        addresses.address_to_bind(HERE)
    spaced = tmp_path / "with space.so"
    spaced.touch()
    monkeypatch.setattr(addresses, "LIBRARY", spaced)
    with pytest.raises(addresses.Exposed, match="space or a colon"):
        addresses.address_to_bind(HERE)
