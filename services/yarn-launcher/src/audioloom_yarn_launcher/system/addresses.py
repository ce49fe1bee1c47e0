"""The IPv4 addresses of this machine, and the choice of one by its network."""

import array
import fcntl
import ipaddress
import socket
import struct

_SIOCGIFCONF = 0x8912
_ROW, _ADDRESS = 40, slice(20, 24)  # of Linux' struct ifreq, 64 bits
_ROOM = 1024 * _ROW


class NoAddress(ValueError):
    """The network is not valid, or this machine has no address in it."""


def is_network(text: str) -> bool:
    """Return whether the text means a network such as 10.0.0.0/8, not a name or an address."""
    return "/" in text


def read_network(text: str) -> ipaddress.IPv4Network:
    """Parse a network.

    Raises:
        NoAddress: it is not valid.
    """
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise NoAddress(f"expected a network such as 10.0.0.0/8, found {text}: {error}") from error


def check_address(text: str) -> str:
    """Return the text unchanged, after a check of a text that means a network.

    Raises:
        NoAddress: the network is not valid.
    """
    if is_network(text):
        read_network(text)
    return text


def address_in(text: str) -> str:
    """Return this machine's first address in the network.

    Raises:
        NoAddress: there is none.
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
    """Return the IPv4 addresses of this machine, in the order of its interfaces."""
    room = array.array("B", bytes(_ROOM))
    asked = struct.pack("iL", _ROOM, room.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        used, _ = struct.unpack("iL", fcntl.ioctl(any_socket, _SIOCGIFCONF, asked))
    rows = (room[start : start + _ROW].tobytes() for start in range(0, used, _ROW))
    return [socket.inet_ntoa(row[_ADDRESS]) for row in rows]
