"""Find the addresses that processes listen at, from the kernel's own tables (Linux)."""

import ipaddress
import re
import socket
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_LISTENS = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


@dataclass(frozen=True)
class Listener:
    """A TCP socket that accepts connections, and a process that holds it."""

    pid: int
    address: str
    port: int

    def __str__(self) -> str:
        every = ipaddress.ip_address(self.address).is_unspecified
        return f"{'every address' if every else self.address}, port {self.port}"


def open_to_others(pids: Iterable[int], known: Collection[str]) -> list[Listener]:
    """List the sockets of these processes that others can reach: neither loopback nor known.

    The processes share their network; those of other users are not seen, and without `/proc` none.
    """
    found: list[Listener] = []
    sockets: dict[str, tuple[str, int]] | None = None
    for pid in pids:
        if sockets is None:
            every = dict(_listening(pid))
            if not every:  # the process ended, or nothing listens, as the next one will show
                continue
            sockets = {key: at for key, at in every.items() if _is_open(at[0], known)}
        if not sockets:
            break
        held = sorted(sockets.keys() & set(_sockets(pid)))
        found += [Listener(pid, *sockets.pop(key)) for key in held]  # once if shared
    return found


def _is_open(address: str, known: Collection[str]) -> bool:
    return address not in known and not ipaddress.ip_address(address).is_loopback


def _listening(pid: int) -> Iterator[tuple[str, tuple[str, int]]]:
    """List the sockets that listen in the network of a process: inode, address and port."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):  # the process ended, or there is no IPv6
            for line in (_PROC / str(pid) / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS:
                    address, _, port = fields[1].partition(":")
                    yield fields[9], (_read(address), int(port, 16))


def _read(text: str) -> str:
    """Read an address of the kernel: words of four bytes in the machine's order, in hex."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    if len(packed) == 4:  # noqa: PLR2004 - bytes of an IPv4 address
        return socket.inet_ntoa(packed)
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def _sockets(pid: int) -> Iterator[str]:
    with suppress(OSError):  # the process ended, or is another user's
        for path in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                if match := _SOCKET.fullmatch(str(path.readlink())):
                    yield match[1]
