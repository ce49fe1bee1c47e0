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
