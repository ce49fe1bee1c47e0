"""Delegation tokens: the file that YARN gives to its containers, where nobody has a ticket.

hdfs-native takes the token of that file which carries the name that it connects to; it says nothing
of a file that it cannot read. And Java names a token by the address of a NameNode, not by its host.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from audioloom_storage.errors import NotConfigured, PermissionDenied
from audioloom_storage.hadoop_configuration import read_properties

VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
_MAGIC = b"HDTS"
_LONGEST_NAME = 127  # longer ones have two bytes for their length


def name_with_token(authority: str) -> str:
    """What to call a NameNode, so that its token is found: as given, or by its address.

    Args:
        authority: of a location; "" is what fs.defaultFS names.

    Raises:
        NotConfigured, PermissionDenied: there is no such file of tokens as is named.
    """
    tokens = _tokens()
    host, colon, port = (authority or _default()).rpartition(":")
    if not tokens or not colon or _is_of(f"{host}:{port}", tokens):
        return authority
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return authority  # told when it is connected to
    named = (f"{address[0]}:{port}" for *_, address in found)
    return next((name for name in named if _is_of(name, tokens)), authority)


def _tokens() -> bytes:
    named = os.environ.get(VARIABLE)
    if not named:
        return b""
    where, hint = f"{VARIABLE}={named}", f"Unset {VARIABLE}, or name the file that YARN made."
    try:
        tokens = Path(named).read_bytes()
    except PermissionError as error:
        found = "the file of delegation tokens may not be read"
        raise PermissionDenied(found, where=where, hint=hint) from error
    except OSError as error:
        found = f"the file of delegation tokens cannot be read: {error.strerror}"
        raise NotConfigured(found, where=where, hint=hint) from error
    if not tokens.startswith((_MAGIC + b"\0", _MAGIC + b"\1")):
        found = "this is no file of delegation tokens"
        raise NotConfigured(found, where=where, expected="one that begins with HDTS", hint=hint)
    return tokens


def _is_of(name: str, tokens: bytes) -> bool:
    """Whether a token carries that name: both forms of the file have its length before it."""
    text = name.encode()
    return len(text) <= _LONGEST_NAME and bytes([len(text)]) + text in tokens


def _default() -> str:
    folder = os.environ.get("HADOOP_CONF_DIR", "/nonexistent")
    named = dict(read_properties(Path(folder, "core-site.xml"))).get("fs.defaultFS", "")
    return named.removeprefix("hdfs://").rstrip("/")
