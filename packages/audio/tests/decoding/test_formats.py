import struct

import pytest
from audio_opening import refused
from audioloom_audio.decoding.formats import declared_size, forms_of, sniff


@pytest.mark.parametrize(
    "head",
    [
        b"hello world, this is text",
        b"<!DOCTYPE html><html>",
        b"PK\x03\x04",
        b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X",
        bytes(24),
        b"\xd8" * 24,
        b"MATLAB 5.0 MAT-file",
        b"FORM\x00\x00\x00\x10ILBM",
        b"RIFF\x00\x00\x00\x10AVI LIST",
        b"\xff\xfe<\x00h\x00",
        b"\xff",
    ],
)
def test_what_is_no_audio_is_named_by_its_first_bytes(head: bytes) -> None:
    """Only a known format ever reaches a decoder."""
    with refused("not_audio", match=r"x: expected .*, found "):
        sniff(head, "x")


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        (b"\x00\x00\x00\x20ftypM4A ", "MP4"),
        (b"#!AMR\n", "AMR"),
        (b"\x02#!SILK_V3", "SILK"),
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9", "WMA"),
        (b"\x1aE\xdf\xa3\x01", "WebM"),
        (b"\xff\xf1\x50\x80", "AAC"),
        (b"\xff\xf9\x50\x80", "AAC"),
    ],
)
def test_a_recording_that_nothing_here_decodes_is_told_from_rubbish(
    head: bytes, codec: str
) -> None:
    """Converting these would help: the ledger says to what they belong."""
    with refused("unsupported_codec", match=codec):
        sniff(head, "x")


def test_an_empty_file_is_empty() -> None:
    """Not "not audio": the recorder made it, and put nothing in."""
    with refused("empty", match="no bytes at all"):
        sniff(b"", "x")


def test_half_a_magic_number_is_a_bad_header() -> None:
    """A file cut within its first twelve bytes."""
    with refused("bad_header", match="a file of 6 bytes"):
        sniff(b"RIFF\x00\x00", "x")


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"RIFF\x00\x00\x00\x00WAVE", "wav"),
        (b"RIFX\x00\x00\x00\x00WAVE", "wav"),
        (b"RF64\xff\xff\xff\xffWAVE", "rf64"),
        (b"BW64\xff\xff\xff\xffWAVE", "rf64"),
        (b"riff\x2e\x91\xcf\x11\xa5\xd6", "w64"),
        (b"FORM\x00\x00\x00\x00AIFF", "aiff"),
        (b"FORM\x00\x00\x00\x00AIFC", "aiff"),
        (b".snd\x00\x00\x00\x18", "au"),
        (b"fLaC\x00\x00\x00\x22", "flac"),
        (b"OggS\x00\x02", "ogg"),
        (b"ID3\x04\x00", "mp3"),
        (b"\xff\xfb\x90\xc4", "mp3"),
        (b"\xff\xf3\x40\xc4", "mp3"),
        (b"caff\x00\x01", "caf"),
        (b"NIST_1A\n   1024", "nist"),
    ],
)
def test_formats_are_known_by_their_first_bytes(head: bytes, form: str) -> None:
    """And by nothing else."""
    assert form == sniff(head, "x.txt")


@pytest.mark.parametrize(
    ("name", "form", "misnamed"),
    [
        ("a/b.wav", "mp3", True),
        ("a/b.WAV", "ogg", True),
        ("a/b.mp3", "wav", True),
        ("a/b.wav", "wav", False),
        ("a/b.wav", "rf64", False),
        ("a/b.opus", "ogg", False),
        ("a/b.bin", "wav", False),
        ("wav", "mp3", True),
        ("", "mp3", False),
    ],
)
def test_only_another_formats_extension_is_a_wrong_name(
    name: str, form: str, *, misnamed: bool
) -> None:
    """Recorders call files anything; a false extension is worth a flag."""
    promised = forms_of(name)

    assert misnamed == bool(promised and form not in promised)


@pytest.mark.parametrize(
    ("head", "form", "size"),
    [
        (b"FORM" + struct.pack(">I", 992) + b"AIFF" + bytes(12), "aiff", 1000),
        (b".snd" + struct.pack(">II", 24, 976) + bytes(12), "au", 1000),
        (b"dns." + struct.pack("<II", 24, 976) + bytes(12), "au", 1000),
        (b".snd" + struct.pack(">II", 24, 0xFFFFFFFF) + bytes(12), "au", None),
        (b"riff" + bytes(12) + struct.pack("<Q", 1000), "w64", 1000),
        (b"fLaC" + bytes(20), "flac", None),
        (b".snd", "au", None),
    ],
)
def test_the_size_a_container_claims_is_read_where_it_stands(
    head: bytes, form: str, size: int | None
) -> None:
    """Without it a cut file looks whole to libsndfile."""
    assert size == declared_size(head, form)
