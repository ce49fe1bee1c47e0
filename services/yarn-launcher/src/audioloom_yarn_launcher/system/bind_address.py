"""The one address at which a worker's command listens: the address that other workers use.

TensorFlow's server listens at every address of its machine, whatever TF_CONFIG says. So a command
starts with a small library (csrc/bind_address.c) that binds such servers to the address in its
environment. A program without glibc bypasses the library; `socket_watch` warns about it.
"""

import ipaddress
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LIBRARY = Path(__file__).absolute().parents[1] / "preload" / "bind_address.so"
ADDRESS, PRELOAD = "AUDIOLOOM_BIND_ADDRESS", "LD_PRELOAD"


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


def warning(exposed: str) -> str:
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
