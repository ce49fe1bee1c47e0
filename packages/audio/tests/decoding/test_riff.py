import io
import struct
from collections.abc import Callable

import pytest
from audio_opening import refused
from audioloom_audio import Kind, RefusedRecording
from audioloom_audio.decoding.riff import ALAW, EXTENSIBLE, MULAW, PCM, WaveHeader, read_header
from hypothesis import given
from hypothesis import strategies as st

DATA = bytes(range(200))
INFO = b"LIST" + struct.pack("<I", 16) + b"INFOISFT" + struct.pack("<I", 4) + b"abcd"
GUID = bytes.fromhex("000000001000800000aa00389b71")


def _read(content: bytes) -> WaveHeader:
    return read_header(io.BytesIO(content), len(content), "x")


def _extensible(tag: int, guid: bytes = GUID) -> bytes:
    return struct.pack("<HHIH", 22, 16, 0, tag) + guid


@pytest.mark.parametrize(
    ("content", "kind", "found"),
    [
        (b"RIFF\0\0\0\0WAVE", "bad_header", "the end of the file"),
        (b"RIFF\0\0\0\0WAVEfmt ", "bad_header", "the end of the file"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "bad_header", "data first"),
        (b"RIFF\0\0\0\0WAVE" + b"JUNK\0\0\0\0" * 5000, "bad_header", "4096 chunks"),
        (
            b"RIFF\0\0\0\0WAVEfmt \x66\x66\x66\x66" + bytes(90),
            "bad_header",
            "chunk of 1717986918 bytes",
        ),
        (b"RIFF\0\0\0\0WAVEfmt \x0e\0\0\0" + bytes(14) + b"data\4\0\0\0abcd", "bad_header", "14"),
        (b"RIFF\0\0\0\0WAVE\0\0\0\0\0\0\0\0", "bad_header", "the bytes"),
    ],
)
def test_a_header_that_leads_nowhere_is_refused(content: bytes, kind: Kind, found: str) -> None:
    """And the message says what stands there."""
    with refused(kind, match=f"^x: expected .*, found .*{found}"):
        _read(content)


def test_a_chunk_of_odd_length_without_its_pad_byte_is_refused(
    make_wave: Callable[..., bytes],
) -> None:
    """Guessing where the next chunk starts could as well find one inside the samples."""
    with refused("bad_header", match=r"a chunk at byte 54, found the bytes b'ata"):
        _read(make_wave(DATA, before=b"note" + struct.pack("<I", 9) + b"123456789"))


def test_a_rate_of_zero_is_refused(make_wave: Callable[..., bytes]) -> None:
    """Three of four other readers accept it."""
    with refused("bad_rate", match="0 Hz"):
        _read(make_wave(DATA, rate=0))


def test_no_channels_are_refused(make_wave: Callable[..., bytes]) -> None:
    """It would divide by zero later."""
    with refused("bad_channels", match="0 channels"):
        _read(make_wave(DATA, channels=0))


@pytest.mark.parametrize(
    ("claimed", "after"), [(0, b""), (45350, b""), (0xFFFFFFFF, b""), (0, INFO)]
)
def test_a_header_without_samples_is_empty(
    make_wave: Callable[..., bytes], claimed: int, after: bytes
) -> None:
    """Even when metadata follow, which are not to be taken for sound."""
    with refused("empty", match="a header and no samples"):
        _read(make_wave(b"", data_size=claimed, after=after))


@pytest.mark.parametrize(
    ("changes", "present", "flags"),
    [
        ({}, 200, ()),
        ({"riff_size": 0}, 200, ()),
        ({"riff_size": 0xFFFFFFFF}, 200, ()),
        ({"after": INFO}, 200, ()),
        ({"data_size": 0}, 200, ("header_lies",)),
        ({"data_size": 0, "riff_size": 0}, 200, ("header_lies",)),
        ({"data_size": 0x7FFFF000}, 200, ("header_lies",)),
        ({"data_size": 0x80000000}, 200, ("header_lies",)),
        ({"data_size": 0xFFFFFFFF}, 200, ("header_lies",)),
        ({"data_size": 400}, 200, ("truncated",)),
        ({"data_size": 100}, 100, ("trailing_bytes",)),
        ({"after": bytes(37)}, 200, ("trailing_bytes",)),
        ({"after": INFO[:-1]}, 200, ("trailing_bytes",)),
    ],
)
def test_the_data_are_what_is_there(
    make_wave: Callable[..., bytes],
    changes: dict[str, object],
    present: int,
    flags: tuple[str, ...],
) -> None:
    """Whatever the header claims; the difference is reported."""
    header = _read(make_wave(DATA, **changes))

    assert (44, present, flags) == (header.offset, header.present, header.flags)


@pytest.mark.parametrize(
    ("before", "offset"),
    [
        (INFO, 68),
        (b"LIST" + struct.pack("<I", 10) + b"INFOabcdef", 62),
        (b"note" + struct.pack("<I", 9) + b"123456789\0", 62),
        (b"JUNK" + struct.pack("<I", 100_000) + bytes(100_000), 100_052),
        (b"fact" + struct.pack("<II", 4, 100), 56),
    ],
)
def test_chunks_before_the_data_are_passed_over(
    make_wave: Callable[..., bytes], before: bytes, offset: int
) -> None:
    """A malformed LIST among them, for which libsndfile gives up."""
    header = _read(make_wave(DATA, before=before))

    assert (offset, 200) == (header.offset, header.present)


def test_a_list_before_the_format_is_passed_over_too(make_wave: Callable[..., bytes]) -> None:
    """TensorFlow's decoder refuses such a file."""
    content = make_wave(DATA)

    header = _read(content[:12] + INFO + content[12:])

    assert (PCM, 68, 200) == (header.tag, header.offset, header.present)


@pytest.mark.parametrize("tag", [PCM, ALAW, MULAW])
def test_an_extensible_format_is_looked_through(make_wave: Callable[..., bytes], tag: int) -> None:
    """The tag stands in the sub-format."""
    assert tag == _read(make_wave(DATA, tag=EXTENSIBLE, fmt_tail=_extensible(tag))).tag


def test_an_extensible_format_of_another_kind_stays_what_it_is(
    make_wave: Callable[..., bytes],
) -> None:
    """Two bytes of some other GUID are not a WAVE format tag."""
    tail = _extensible(PCM, guid=bytes(14))

    assert EXTENSIBLE == _read(make_wave(DATA, tag=EXTENSIBLE, fmt_tail=tail)).tag


def test_an_rf64_file_has_its_size_in_another_chunk(make_wave: Callable[..., bytes]) -> None:
    """And a cut one is told from one that was streamed."""
    plain = make_wave(DATA, data_size=0xFFFFFFFF)[12:]
    for size, flags in ((200, ()), (5 << 32, ("truncated",)), (0, ("header_lies",))):
        ds64 = b"ds64" + struct.pack("<IQQQI", 28, 0, size, 0, 0)

        header = _read(b"RF64\xff\xff\xff\xffWAVE" + ds64 + plain)

        assert (80, 200, flags) == (header.offset, header.present, header.flags)


def test_the_header_is_read_forwards(make_wave: Callable[..., bytes]) -> None:
    """So that a checksum taken on the way needs no second reading."""

    class Forward(io.BytesIO):
        seeks = 0

        def seek(self, offset: int, whence: int = 0, /) -> int:
            self.seeks += 1
            return super().seek(offset, whence)

    content = make_wave(DATA, before=b"JUNK" + struct.pack("<I", 100_000) + bytes(100_000))
    source = Forward(content)

    read_header(source, len(content), "x")

    assert 1 == source.seeks


@given(st.data())
def test_no_bytes_make_the_header_fail_otherwise_than_by_refusal(data: st.DataObject) -> None:
    """Whatever is overwritten: a header, or a refusal."""
    fmt = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    content = bytearray(b"RIFF\0\0\0\0WAVEfmt " + fmt + INFO + b"data\xc8\0\0\0" + DATA)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(12, 80))
        content[place : place + 4] = data.draw(st.binary(min_size=4, max_size=4))
    content = content[: data.draw(st.integers(12, len(content)))]
    try:
        header = _read(bytes(content))
    except RefusedRecording:
        return
    assert 0 < header.present <= len(content) - header.offset
