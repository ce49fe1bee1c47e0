"""Delegation tokens: the file that YARN gives to its containers, which have no Kerberos ticket.

hdfs-native uses the token in that file that carries the name of the NameNode. It ignores a file
that it cannot read, and a token in its last minute, without an error. Java names a token by the
address of a NameNode, not by its host.
"""

import io
import math
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from audioloom_hadoop.configuration import NotConfigured as BadConfiguration
from audioloom_hadoop.configuration import of_clients

from audioloom_storage.errors import NotConfigured, PermissionDenied
from audioloom_storage.location import Location

VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
FRESH_TOKEN = (
    f"Get a fresh token (kinit, then hdfs fetchdt) into the file that {VARIABLE} names; the same"
    " command goes on where it stopped."
)
_RENEWAL = re.compile(r"expired.*expected renewal time: (\S+ \S+)")
MAGIC = b"HDTS"
_KIND = b"HDFS_DELEGATION_TOKEN"
_Raw = tuple[bytes, bytes, bytes]  # identifier, kind, service
LAST_S = 60  # in which hdfs-native would go on as another user, if the cluster allows it


@dataclass(frozen=True)
class Token:
    """A delegation token of HDFS: its NameNode and user; its life in seconds since 1970."""

    service: str
    owner: str
    issued: float
    ends: float


def name_with_token(authority: str) -> tuple[str, float]:
    """Return the name of a NameNode under which its token is found, and when that token ends.

    It is the name as given, "" for fs.defaultFS, or its address. Without a token the end is
    infinity.

    Raises:
        NotConfigured: the named token file does not exist.
        PermissionDenied: the file may not be read, or its token of this NameNode has expired.
    """
    asked = authority or _default()
    found = _find(asked)
    if found is None:
        return authority, math.inf
    name, token = found
    if token.ends - LAST_S <= time.time():
        raise _expired(token, token.ends, f"{VARIABLE}={os.environ.get(VARIABLE)}")
    return authority if name == asked else name, token.ends - LAST_S


def _find(asked: str) -> tuple[str, Token] | None:
    """Find a name of a NameNode that has a token, and of its tokens the one that ends last."""
    tokens = _tokens()
    for name in _names(asked) if tokens else ():
        named = [each for each in tokens if each.service in (name, f"ha-hdfs:{name}")]
        if named:
            return name, max(named, key=lambda token: token.ends)
    return None


def _names(authority: str) -> Iterator[str]:
    yield authority
    host, colon, port = authority.rpartition(":")
    with suppress(OSError, UnicodeError):  # the connection reports it
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM) if colon else ():
            yield f"{address[0]}:{port}"


def _tokens() -> list[Token]:
    named = os.environ.get(VARIABLE)
    if not named:
        return []
    where, hint = f"{VARIABLE}={named}", f"Unset {VARIABLE}, or name the file that YARN made."
    try:
        return parse_tokens(Path(named).read_bytes())
    except OSError as error:
        kind = PermissionDenied if isinstance(error, PermissionError) else NotConfigured
        found = f"the file of delegation tokens cannot be read: {error.strerror}"
        raise kind(found, where=where, hint=hint) from error
    except ValueError as error:
        expected = "one that begins with HDTS, and is whole"
        raise NotConfigured(str(error), where=where, expected=expected, hint=hint) from error


def refused(said: str, location: Location) -> PermissionDenied:
    """Return the error for a NameNode that refuses a token, with the state of the token."""
    found = _find(location.authority or _default())
    if found is None:
        return PermissionDenied(said, where=location, hint=FRESH_TOKEN)
    _, token = found
    if (renewal := _RENEWAL.search(said)) is not None:
        return _expired(token, datetime.fromisoformat(renewal[1]).timestamp(), location)
    age = timedelta(seconds=round(time.time() - token.issued))
    return PermissionDenied(
        f"{_called(token)} has expired or was cancelled: it was issued {age} ago",
        where=location,
        expected="one that the NameNode knows",
        hint=FRESH_TOKEN,
    )


def _called(token: Token) -> str:
    return f"the delegation token of {token.owner} for {token.service}"


def _expired(token: Token, ended: float, where: object) -> PermissionDenied:
    lived = timedelta(seconds=round(ended - token.issued))
    return PermissionDenied(
        f"{_called(token)} has expired: it lived {lived},"
        f" until {datetime.fromtimestamp(ended, UTC):%Y-%m-%d %H:%M:%S} UTC",
        where=where,
        expected=f"one that lives for more than {LAST_S} s",
        hint=FRESH_TOKEN,
    )


def _default() -> str:
    try:
        named = of_clients().value("fs.defaultFS")
    except BadConfiguration as error:
        raise NotConfigured(
            error.found, where=error.where, expected=error.expected, hint=error.hint
        ) from error
    return named.removeprefix("hdfs://").rstrip("/")


def parse_tokens(data: bytes) -> list[Token]:
    """Return the HDFS tokens in a file, in either of Hadoop's formats, without their secrets.

    ValueError if the file is no token file, or is cut off.
    """
    forms = {MAGIC + b"\0": _writable, MAGIC + b"\1": _protobuf}
    read = forms.get(data[:5])
    if read is None:
        raise ValueError("this is no file of delegation tokens")
    return [_token(raw, service) for raw, kind, service in read(_Bytes(data[5:])) if kind == _KIND]


def _token(identifier: bytes, service: bytes) -> Token:
    rest = _Bytes(identifier)
    rest.take(1)  # of its version
    owner, _renewer, _real_user = (rest.sized() for _ in range(3))
    issued, ends = rest.vlong() / 1000, rest.vlong() / 1000
    return Token(service.decode(errors="replace"), owner.decode(errors="replace"), issued, ends)


def _writable(data: "_Bytes") -> Iterator[_Raw]:
    for _ in range(data.vlong()):
        _alias, identifier, _password, kind, service = (data.sized() for _ in range(5))
        yield identifier, kind, service


def _protobuf(data: "_Bytes") -> Iterator[_Raw]:
    for number, entry in _fields(data.take(data.varint())):
        for inner, token in _fields(entry) if number == 1 else ():
            if inner == 2:  # noqa: PLR2004 - as the protocol numbers it
                of = dict(_fields(token))
                yield of.get(1, b""), of.get(3, b""), of.get(4, b"")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    data = _Bytes(message)
    while data.tell() < len(message):
        number, kind = divmod(data.varint(), 8)
        if kind != 2:  # noqa: PLR2004 - bytes with a length: these messages hold nothing else
            raise ValueError("the file of delegation tokens is damaged")
        yield number, data.take(data.varint())


class _Bytes(io.BytesIO):
    def take(self, size: int) -> bytes:
        taken = self.read(max(size, 0))
        if len(taken) != size:
            raise ValueError("the file of delegation tokens is cut off or damaged")
        return taken

    def sized(self) -> bytes:
        """Return bytes that follow their length."""
        return self.take(self.vlong())

    def vlong(self) -> int:
        """Read a number in Hadoop's format: the number itself, or its length and its bytes."""
        first = int.from_bytes(self.take(1), signed=True)
        if first >= -112:  # noqa: PLR2004
            return first
        negative = first < -120  # noqa: PLR2004
        found = int.from_bytes(self.take(-120 - first if negative else -112 - first))
        return ~found if negative else found

    def varint(self) -> int:
        """Read a number in protobuf's format: seven bits a byte, the lowest first."""
        found, shift, more = 0, 0, True
        while more:
            (byte,) = self.take(1)
            found, shift, more = found | (byte & 0x7F) << shift, shift + 7, byte >= 0x80  # noqa: PLR2004
        return found
