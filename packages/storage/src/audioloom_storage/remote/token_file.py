"""Parse a file of delegation tokens, in both of Hadoop's formats, without keeping secrets."""

from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"HDTS"
_KIND = b"HDFS_DELEGATION_TOKEN"
_Raw = tuple[bytes, bytes, bytes]  # identifier, kind, service


@dataclass(frozen=True)
class Token:
    """A delegation token of HDFS.

    Args:
        service: the NameNode that accepts the token.
        owner: the user of the token.
        issued: seconds since 1970.
        ends: seconds since 1970, even if the token is renewed.
    """

    service: str
    owner: str
    issued: float
    ends: float


def parse_tokens(data: bytes) -> list[Token]:
    """Return the HDFS tokens in a file.

    Raises:
        ValueError: the file is no token file, or is cut off.
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
    for number, entry in _fields(_Bytes(data.take(data.varint()))):
        for inner, token in _fields(_Bytes(entry)) if number == 1 else ():
            if inner == 2:  # noqa: PLR2004 - as the protocol numbers it
                of = dict(_fields(_Bytes(token)))
                yield of.get(1, b""), of.get(3, b""), of.get(4, b"")


def _fields(data: "_Bytes") -> Iterator[tuple[int, bytes]]:
    while data:
        number, kind = divmod(data.varint(), 8)
        if kind != 2:  # noqa: PLR2004 - bytes with a length: these messages hold nothing else
            raise ValueError("the file of delegation tokens is damaged")
        yield number, data.take(data.varint())


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data):
            raise ValueError("the file of delegation tokens is cut off or damaged")
        taken, self._data = self._data[:size], self._data[size:]
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
