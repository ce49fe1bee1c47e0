"""The addresses of this machine, for nodes in several networks."""

import array
import fcntl
import ipaddress
import socket
import struct

_SIOCGIFCONF = 0x8912
_ROW, _ADDRESS = 40, slice(20, 24)  # of Linux' struct ifreq, 64 bits
_ROOM = 1024 * _ROW


class NoAddress(ValueError):
    """This machine has no address in the network, or that is none."""


def is_network(text: str) -> bool:
    """Whether it is meant as a network, such as 10.0.0.0/8, and not as a name or an address."""
    return "/" in text


def read_network(text: str) -> ipaddress.IPv4Network:
    """The network.

    Raises:
        NoAddress: it is none.
    """
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise NoAddress(f"expected a network such as 10.0.0.0/8, found {text}: {error}") from error


def check_address(text: str) -> str:
    """The text, if it may be a name or an address, or is a network.

    Raises:
        NoAddress: it is meant as a network, and is none.
    """
    if is_network(text):
        read_network(text)
    return text


def address_in(text: str) -> str:
    """The first address of this machine that lies in the network.

    Raises:
        NoAddress: none does.
    """
    network, own = read_network(text), own_addresses()
    for address in own:
        if ipaddress.IPv4Address(address) in network:
            return address
    raise NoAddress(
        f"{socket.gethostname()} has no address in {text}, only {', '.join(own) or 'none at all'}:"
        " give another --advertise"
    )


def own_addresses() -> list[str]:
    """The IPv4 addresses of this machine, in the order of its interfaces."""
    room = array.array("B", bytes(_ROOM))
    asked = struct.pack("iL", _ROOM, room.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        used, _ = struct.unpack("iL", fcntl.ioctl(any_socket, _SIOCGIFCONF, asked))
    rows = (room[start : start + _ROW].tobytes() for start in range(0, used, _ROW))
    return [socket.inet_ntoa(row[_ADDRESS]) for row in rows]
