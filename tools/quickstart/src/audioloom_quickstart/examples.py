"""As much of TFRecord and `tf.train.Example` as it takes to read a name out of a record.

TensorFlow reads them too, at 250 MB and six seconds of import. See TensorFlow's `tfrecord` guide
and its `example.proto` and `feature.proto` for both formats.
"""

from __future__ import annotations

from collections.abc import Iterator

_LENGTH, _CHECKSUM = 8, 4
_FEATURES, _ENTRY, _KEY, _VALUE, _BYTES_LIST, _ITEM = 1, 1, 1, 2, 1, 1
_VARINT, _LENGTH_DELIMITED = 0, 2


def records(data: bytes) -> Iterator[bytes]:
    """The payloads of a TFRecord file; its checksums are passed over.

    Raises:
        ValueError: the file ends within a record.
    """
    at = 0
    while at < len(data):
        begin = at + _LENGTH + _CHECKSUM
        end = begin + int.from_bytes(data[at : at + _LENGTH], "little")
        at = end + _CHECKSUM
        if at > len(data):
            raise ValueError(f"expected a record of {end - begin} bytes, found the end of the file")
        yield data[begin:end]


def bytes_feature(example: bytes, name: str) -> bytes:
    """The first value of a bytes feature of a serialised `tf.train.Example`.

    Raises:
        KeyError: it has no such feature.
        ValueError: it is none, or not of bytes.
    """
    for features in _fields(example, _FEATURES):
        for entry in _fields(features, _ENTRY):
            if next(_fields(entry, _KEY)).decode() == name:
                for value in _fields(entry, _VALUE):
                    for values in _fields(value, _BYTES_LIST):
                        return next(_fields(values, _ITEM), b"")
                raise ValueError(f"expected a feature of bytes, found another kind: {name}")
    raise KeyError(name)


def _fields(message: bytes, wanted: int) -> Iterator[bytes]:
    """The length-delimited fields of a protobuf message that have the wanted number."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = divmod(tag, 8)
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind == _LENGTH_DELIMITED:
            size, at = _varint(message, at)
            if number == wanted:
                yield message[at : at + size]
            at += size
        else:
            raise ValueError(f"expected a tf.train.Example, found wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("expected a tf.train.Example, found the end of one")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the bit that says there is more
            return value, at
