"""The one address that a worker's command listens at: what others are told, and no other.

TensorFlow's server listens at every address of its machine, whatever TF_CONFIG says. A command is
started with a small library (csrc/bind_address.c) that gives such servers the address in its
environment. A program that does without glibc goes past it: `lookout` looks.
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
    """A command here listens at every address of the machine, and why."""


@dataclass(frozen=True)
class Binding:
    """Where the servers of a command listen.

    Args:
        address: the one, "" if it could not be had.
        exposed: why not, "" if it could.
    """

    address: str = ""
    exposed: str = ""

    def variables(self, others: Mapping[str, str]) -> dict[str, str]:
        """The environment of the command, from what it is without this."""
        if not self.address:
            return dict(others)
        theirs = others.get(PRELOAD)
        preload = f"{theirs}:{LIBRARY}" if theirs else str(LIBRARY)
        return {**others, PRELOAD: preload, ADDRESS: self.address}


def binding_of(advertised: str) -> Binding:
    """The binding of a command that others reach by a host name or an address."""
    try:
        return Binding(address_to_bind(advertised))
    except Exposed as error:
        return Binding(exposed=str(error))


def warning(exposed: str) -> str:
    """What is said where a command could not be given one address."""
    return (
        "what the command listens at is open at every address of the machine, and whoever reaches"
        f" a port of TensorFlow may use it: {exposed}"
    )


def address_to_bind(advertised: str) -> str:
    """The address of this machine that others reach by what is advertised.

    Args:
        advertised: a host name or an address.

    Raises:
        Exposed: there is none, or no library that could see to it.
    """
    _check_library()
    try:
        rows = socket.getaddrinfo(advertised, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Exposed(f"{advertised}: the name leads to no address here ({error})") from error
    found = sorted({str(row[4][0]) for row in rows})
    if {"0.0.0.0", "::"} & {*found}:  # noqa: S104 - that is what is looked for
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
    if "%" in address:  # of one interface only, which the library is not told
        return False
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _misleads(advertised: str, address: str) -> bool:
    """Whether a name means this machine to itself alone, as Debian's own name does."""
    if advertised == "localhost" or not ipaddress.ip_address(address).is_loopback:
        return False
    try:
        ipaddress.ip_address(advertised)
    except ValueError:
        return True
    return False
