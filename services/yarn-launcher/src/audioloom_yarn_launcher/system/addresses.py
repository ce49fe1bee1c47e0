"""The addresses of this machine: one of a network, held ports, and where a command listens.

TensorFlow's server listens at every address of its machine, whatever TF_CONFIG says. So a command
starts with a small library (csrc/bind_address.c) that binds such servers to the address in its
environment. A program without glibc bypasses the library; `SocketWatch` warns about it.
"""

import array
import fcntl
import ipaddress
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SIOCGIFCONF = 0x8912
_ROW, _ADDRESS = 40, slice(20, 24)  # of Linux' struct ifreq, 64 bits
_ROOM = 1024 * _ROW
LIBRARY = Path(__file__).absolute().parents[1] / "preload" / "bind_address.so"
ADDRESS, PRELOAD = "AUDIOLOOM_BIND_ADDRESS", "LD_PRELOAD"


class NoAddress(ValueError):
    """This machine has no address in the network."""


def check_address(text: str) -> str:
    """Return a name, an address or a network unchanged; ValueError of a bad network."""
    try:
        if "/" in text:
            ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"expected a network such as 10.0.0.0/8, found {text}: {error}") from error
    return text


def own_address(advertise: str) -> str:
    """Return this machine's first address in a network, or NoAddress; a name stays as it is."""
    if "/" not in advertise:
        return advertise
    network, own = ipaddress.IPv4Network(advertise), own_addresses()
    for address in own:
        if ipaddress.IPv4Address(address) in network:
            return address
    raise NoAddress(
        f"{socket.gethostname()} has no address in {advertise}, only"
        f" {', '.join(own) or 'none at all'}: give another --advertise"
    )


def own_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine, in the order of its interfaces."""
    room = array.array("B", bytes(_ROOM))
    asked = struct.pack("iL", _ROOM, room.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        used, _ = struct.unpack("iL", fcntl.ioctl(any_socket, _SIOCGIFCONF, asked))
    rows = (room[start : start + _ROW].tobytes() for start in range(0, used, _ROW))
    return [socket.inet_ntoa(row[_ADDRESS]) for row in rows]


def hold_port() -> socket.socket:
    """Bind a socket to a free port on all addresses, to hold the port for another process.

    The socket never listens, so it accepts no connection. It allows reuse, so a server of this user
    that asks for reuse too (TF_GRPC_REUSE_PORT=true) can bind the port, and no other user can.
    Close it when that server has ended.
    """
    try:
        both = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        return _bound(both)
    except OSError:  # this machine has no IPv6
        return _bound(socket.socket(socket.AF_INET, socket.SOCK_STREAM))


def free_port() -> int:
    """Find a free port, for a server that cannot bind a held one."""
    with hold_port() as held:
        return int(held.getsockname()[1])


def _bound(unbound: socket.socket) -> socket.socket:
    try:
        unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        unbound.bind(("", 0))
    except OSError:
        unbound.close()
        raise
    return unbound


def address_of(host: str, held: socket.socket) -> str:
    """Return `host:port` of a held port, as in TF_CONFIG."""
    port = held.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Exposed(ValueError):
    """The reason why a command listens at every address of this machine."""


@dataclass(frozen=True)
class Binding:
    """The address of a command's servers, or the reason why it has none: one of them is ""."""

    address: str = ""
    exposed: str = ""

    def variables(self, others: Mapping[str, str]) -> dict[str, str]:
        """Add the library's variables to the environment of the command."""
        if not self.address:
            return dict(others)
        theirs = others.get(PRELOAD)
        preload = f"{theirs}:{LIBRARY}" if theirs else str(LIBRARY)
        return {**others, PRELOAD: preload, ADDRESS: self.address}


def binding_of(advertised: str) -> Binding:
    """Choose the binding of a command from its advertised host name or address."""
    try:
        return Binding(address_to_bind(advertised))
    except Exposed as error:
        return Binding(exposed=str(error))


def exposed_text(exposed: str) -> str:
    """Write the warning that a command is not bound to one address."""
    return (
        "what the command listens at is open at every address of the machine, and whoever reaches"
        f" a port of TensorFlow may use it: {exposed}"
    )


def address_to_bind(advertised: str) -> str:
    """Return this machine's address that others reach by the advertised one, or raise Exposed."""
    _check_library()
    try:
        rows = socket.getaddrinfo(advertised, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Exposed(f"{advertised}: the name leads to no address here ({error})") from error
    found = sorted({str(row[4][0]) for row in rows})
    if {"0.0.0.0", "::"} & {*found}:  # noqa: S104 - only compared
        raise Exposed(f"{advertised} is every address of this machine")
    found.sort(key=lambda address: ":" in address)  # IPv4 first
    for address in found:
        if _is_own(address) and not _misleads(advertised, address):
            return address
    if any(_is_own(address) for address in found):
        raise Exposed(f"{advertised} leads to {found[0]} here, where no other machine reaches this")
    raise Exposed(f"{' and '.join(found)} is not an address of this machine")


def _check_library() -> None:
    if not LIBRARY.is_file():
        raise Exposed(
            f"this audioloom-yarn-launcher was built without {LIBRARY.name}, which needs Linux on"
            f" x86-64 or ARM (here it is {sys.platform}): {LIBRARY} is not there"
        )
    if {" ", ":"} & {*str(LIBRARY)}:
        raise Exposed(f"{PRELOAD} cannot name {LIBRARY}, which has a space or a colon in its path")


def _is_own(address: str) -> bool:
    if "%" in address:  # link-local: the library does not get the interface
        return False
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _misleads(advertised: str, address: str) -> bool:
    """Return whether a name is a loopback address here only, as on Debian for its own host name."""
    return ipaddress.ip_address(address).is_loopback and advertised not in ("localhost", address)
