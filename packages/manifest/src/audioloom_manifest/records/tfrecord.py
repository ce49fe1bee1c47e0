"""TFRecord framing: length, checksum of the length, payload, checksum of the payload.

A file is a plain sequence of such frames, so files concatenate byte-wise, and a file that was cut
between two records looks whole: only the manifest's count and size tell (TensorFlow reads a file
cut inside a header without a word).
"""

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple, TypeAlias

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from audioloom_manifest.errors import RecordError
from audioloom_manifest.records.crc32c import joined_crc32c
from audioloom_manifest.records.index import FOOTER_BYTES, HEADER_BYTES

OVERHEAD_BYTES = HEADER_BYTES + FOOTER_BYTES

#: No record of ours comes near it; a length beyond it is damage, not a reason to allocate.
_MAX_PAYLOAD = 1 << 30

_MASK_DELTA = 0xA282EAD8

#: _Bytes that checksums are computed of: google-crc32c refuses a memoryview.
_Bytes: TypeAlias = bytes | NDArray[np.uint8]


class Frame(NamedTuple):
    """One record as it lies in a file: its offset, its whole length there, and its payload."""

    offset: int
    length: int
    payload: bytes


def masked_crc(data: _Bytes) -> int:
    """CRC-32C of *data*, rotated and shifted as TFRecord stores it."""
    return _masked(google_crc32c.value(data))


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def frame(payload: bytes) -> bytes:
    """*payload* as one TFRecord."""
    record = np.empty(len(payload) + OVERHEAD_BYTES, np.uint8)
    frame_into(record, (payload,))
    return record.tobytes()


def frame_into(room: NDArray[np.uint8], parts: Iterable[bytes | memoryview]) -> None:
    """Write the payload that *parts* make up into *room* as one TFRecord, which fills it."""
    view = room.data
    end = len(room) - FOOTER_BYTES
    view[:HEADER_BYTES] = _header(end - HEADER_BYTES)
    at = HEADER_BYTES
    for part in parts:
        view[at : at + len(part)] = part
        at += len(part)
    view[at:] = struct.pack("<I", masked_crc(room[HEADER_BYTES:end]))


@lru_cache(maxsize=8192)
def _header(size: int) -> bytes:
    """Return what precedes a payload of *size* bytes; sizes repeat."""
    length = struct.pack("<Q", size)
    return length + struct.pack("<I", masked_crc(length))


@lru_cache(maxsize=8192)
def _moved_crc(size: int) -> int:
    """Return the CRC-32C of a header, moved by the payload of *size* bytes that follows it."""
    return joined_crc32c([google_crc32c.value(_header(size)), 0], [HEADER_BYTES, size])


def check(record: NDArray[np.uint8]) -> int:
    """Compare both checksums of one whole TFRecord, and its length, with its bytes.

    Return the CRC-32C of all these bytes, at no more cost.

    Raises:
        RecordError: one of them is another.
    """
    size = _payload_size(record[:HEADER_BYTES].tobytes())
    if len(record) != size + OVERHEAD_BYTES:
        raise RecordError(f"{len(record)} bytes where {size + OVERHEAD_BYTES} are declared")
    footer = record[-FOOTER_BYTES:].tobytes()
    crc = _check_payload(record[HEADER_BYTES:-FOOTER_BYTES], footer)
    return int(google_crc32c.extend(_moved_crc(size) ^ crc, footer))


def read(stream: BinaryIO) -> Iterator[Frame]:
    """Every record of *stream* from where it stands to its end, checksums checked.

    Raises:
        RecordError: naming the offset, for a wrong checksum or a record that is cut off.
    """
    offset = stream.tell()
    while header := stream.read(HEADER_BYTES):
        try:
            size = _payload_size(header)
            body = stream.read(size + FOOTER_BYTES)
            if len(body) != size + FOOTER_BYTES:
                raise RecordError(f"cut off: {len(body)} of {size + FOOTER_BYTES} bytes")  # noqa: TRY301
            payload = body[:size]
            _check_payload(payload, body[size:])
        except RecordError as error:
            raise RecordError(f"the record at byte {offset}: {error}") from None
        yield Frame(offset, size + OVERHEAD_BYTES, payload)
        offset += size + OVERHEAD_BYTES


def _payload_size(header: bytes) -> int:
    if len(header) != HEADER_BYTES:
        raise RecordError(f"cut off: {len(header)} of {HEADER_BYTES} bytes of the header")
    size, stored = struct.unpack("<QI", header)
    actual = masked_crc(header[:8])
    if stored != actual:
        raise RecordError(f"checksum of the length {stored:08x}, computed {actual:08x}")
    if size > _MAX_PAYLOAD:
        raise RecordError(f"a payload of {size} bytes")
    return int(size)


def _check_payload(payload: _Bytes, footer: bytes) -> int:
    (stored,) = struct.unpack("<I", footer)
    crc = google_crc32c.value(payload)
    actual = _masked(crc)
    if stored != actual:
        raise RecordError(f"checksum of the payload {stored:08x}, computed {actual:08x}")
    return int(crc)
