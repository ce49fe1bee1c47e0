"""Delegation tokens: the file that YARN gives to its containers, which have no Kerberos ticket.

hdfs-native uses the token in that file that carries the name of the NameNode. It ignores a file
that it cannot read, and a token in its last minute, without an error. Java names a token by the
address of a NameNode, not by its host.
"""

import math
import os
import re
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from audioloom_hadoop.configuration import NotConfigured as BadConfiguration
from audioloom_hadoop.configuration import of_clients

from audioloom_storage.errors import NotConfigured, PermissionDenied
from audioloom_storage.location import Location
from audioloom_storage.remote.token_file import Token, parse_tokens

VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
FRESH_TOKEN = (
    f"Get a fresh token (kinit, then hdfs fetchdt) into the file that {VARIABLE} names; the same"
    " command goes on where it stopped."
)
_RENEWAL = re.compile(r"expired.*expected renewal time: (\S+ \S+)")
LAST_S = 60  # in which hdfs-native would go on as another user, if the cluster allows it


def name_with_token(authority: str) -> tuple[str, float]:
    """Return the name of a NameNode under which its token is found, and when that token ends.

    Args:
        authority: the authority of a location; "" stands for fs.defaultFS.

    Returns:
        The name as given or its address, and the token's end: infinity without a token.

    Raises:
        NotConfigured: the named token file does not exist.
        PermissionDenied: the file may not be read, or its token of this NameNode has expired.
    """
    tokens = _tokens()
    asked = authority or _default()
    if not tokens:
        return authority, math.inf
    if (until := _until(asked, tokens)) is not None:
        return authority, until
    for name in _addresses(asked):
        if (until := _until(name, tokens)) is not None:
            return name, until
    return authority, math.inf


def _addresses(authority: str) -> list[str]:
    host, colon, port = authority.rpartition(":")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM) if colon else []
    except (OSError, UnicodeError):
        return []  # the connection reports it
    return [f"{address[0]}:{port}" for *_, address in found]


def _tokens() -> list[Token]:
    named = os.environ.get(VARIABLE)
    if not named:
        return []
    where, hint = f"{VARIABLE}={named}", f"Unset {VARIABLE}, or name the file that YARN made."
    try:
        return parse_tokens(Path(named).read_bytes())
    except PermissionError as error:
        found = "the file of delegation tokens may not be read"
        raise PermissionDenied(found, where=where, hint=hint) from error
    except OSError as error:
        found = f"the file of delegation tokens cannot be read: {error.strerror}"
        raise NotConfigured(found, where=where, hint=hint) from error
    except ValueError as error:
        expected = "one that begins with HDTS, and is whole"
        raise NotConfigured(str(error), where=where, expected=expected, hint=hint) from error


def _until(name: str, tokens: list[Token]) -> float | None:
    """Return until when one of the tokens of that name can be used; None if there is none."""
    if (last := _last(name, tokens)) is None:
        return None
    if last.ends - LAST_S <= time.time():
        raise _expired(last, last.ends, f"{VARIABLE}={os.environ.get(VARIABLE)}")
    return last.ends - LAST_S


def _last(name: str, tokens: list[Token]) -> Token | None:
    found = (each for each in tokens if each.service in (name, f"ha-hdfs:{name}"))
    return max(found, key=lambda token: token.ends, default=None)


def refused(said: str, location: Location) -> PermissionDenied:
    """Return the error for a NameNode that refuses a token, with the state of the token.

    Args:
        said: the NameNode's message.
        location: the location that was requested.
    """
    asked, tokens = location.authority or _default(), _tokens()
    found = (_last(name, tokens) for name in (asked, *_addresses(asked)))
    token = next((each for each in found if each is not None), None)
    renewal = _RENEWAL.search(said)
    if token is not None and renewal is not None:
        return _expired(token, datetime.fromisoformat(renewal[1]).timestamp(), location)
    if token is None:
        return PermissionDenied(said, where=location, hint=FRESH_TOKEN)
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
