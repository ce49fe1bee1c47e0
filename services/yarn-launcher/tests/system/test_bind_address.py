"""The library that a worker's command is started with, in programs as they are."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from audioloom_yarn_launcher.system import bind_address, ports

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
    held = ports.hold()
    wanted = held.getsockname()[1] if "held" in options else 0
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps([family, bound, wanted, *options])],
        env=bind_address.Binding(address).variables(os.environ),
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
    variables = bind_address.Binding(HERE).variables({"LD_PRELOAD": "/usr/lib/other.so"})
    assert f"/usr/lib/other.so:{bind_address.LIBRARY}" == variables["LD_PRELOAD"]
    assert variables["AUDIOLOOM_BIND_ADDRESS"] == HERE


def test_the_library_needs_no_young_glibc() -> None:
    """Nodes may have the one of 2012."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", bind_address.LIBRARY.read_bytes())
    assert found
    assert max((int(major), int(minor)) for major, minor in found) <= (2, 17)


def test_an_address_of_this_machine_is_bound() -> None:
    """As it was given, and what a name of the loopback leads to."""
    assert HERE == bind_address.address_to_bind(HERE)
    assert "127.0.0.1" == bind_address.address_to_bind("localhost")


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
    with pytest.raises(bind_address.Exposed, match=re.escape(why)):
        bind_address.address_to_bind(advertised)


def test_a_name_that_only_others_know_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a gateway; no name server is asked here."""

    def look_up(*_: object, **__: object) -> list[object]:
        raise bind_address.socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(bind_address.socket, "getaddrinfo", look_up)
    with pytest.raises(bind_address.Exposed, match=r"gate: the name leads to no address here \("):
        bind_address.address_to_bind("gate")


def test_a_name_that_leads_to_the_loopback_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's own name leads to 127.0.1.1, at which no other node reaches this one."""

    def look_up(*_: object, **__: object) -> list[object]:
        return [(2, 1, 6, "", ("127.0.1.1", 0))]

    monkeypatch.setattr(bind_address.socket, "getaddrinfo", look_up)
    with pytest.raises(bind_address.Exposed, match=r"node-7 leads to 127\.0\.1\.1 here"):
        bind_address.address_to_bind("node-7")


def test_without_the_library_there_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Built for another system, or installed where LD_PRELOAD cannot name it."""
    monkeypatch.setattr(bind_address, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(bind_address.Exposed, match=r"was built without .*none\.so"):
        bind_address.address_to_bind(HERE)
    spaced = tmp_path / "with space.so"
    spaced.touch()
    monkeypatch.setattr(bind_address, "LIBRARY", spaced)
    with pytest.raises(bind_address.Exposed, match="space or a colon"):
        bind_address.address_to_bind(HERE)
