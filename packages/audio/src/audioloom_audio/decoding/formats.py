"""The format of a recording: by its first bytes, or as somebody says; a wrong name sets a flag."""

import struct
from dataclasses import dataclass
from typing import Final, Literal, get_args

from audioloom_audio.errors import RefusedRecording, require

Coding = Literal["alaw", "mulaw", "gsm"]

SNIFFED_BYTES: Final = 24

_BY_START: Final = (
    (b"riff\x2e\x91\xcf\x11", "w64"),
    (b".snd", "au"),
    (b"dns.", "au"),
    (b"fLaC", "flac"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"caff", "caf"),
    (b"NIST_1A", "nist"),
)

# The ledger names these formats, because the recordings can be converted.
_UNDECODED: Final = (
    (0, b"#!AMR", "AMR"),
    (0, b"#!SILK", "SILK"),
    (0, b"\x02#!SILK", "SILK"),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "ASF (WMA)"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM"),
    (0, b"wvpk", "WavPack"),
    (0, b"MAC ", "Monkey's Audio"),
    (0, b"ADIF", "AAC"),
    (4, b"ftyp", "MP4 (M4A)"),
)

_EXTENSIONS: Final = {
    "aif": {"aiff"},
    "aifc": {"aiff"},
    "aiff": {"aiff"},
    "au": {"au"},
    "caf": {"caf"},
    "flac": {"flac", "ogg"},
    "mp3": {"mp3"},
    "oga": {"ogg"},
    "ogg": {"ogg"},
    "opus": {"ogg"},
    "w64": {"w64"},
    "wav": {"wav", "rf64"},
    "wave": {"wav", "rf64"},
}

_AU_UNKNOWN: Final = 0xFFFFFFFF

_EXPECTED: Final = "a recording (WAV, W64, AIFF, AU, CAF, FLAC, Ogg, MP3 or NIST SPHERE)"


@dataclass(frozen=True)
class RawFormat:
    """The format of recordings without a header.

    Attributes:
        coding: ``alaw``, ``mulaw`` (8 bits a sample) or ``gsm`` (GSM 06.10, 33 bytes for 20 ms).
        sample_rate: Hz.
        channels: Number of interleaved channels; 1 for ``gsm``.

    Raises:
        BadSettings: A value is outside its range; the message names it.
    """

    coding: Coding
    sample_rate: int = 8000
    channels: int = 1

    def __post_init__(self) -> None:
        codings, rate = get_args(Coding), self.sample_rate
        require(self.coding in codings, "coding", f"one of {', '.join(codings)}", self.coding)
        require(1000 <= rate <= 768000, "sample_rate", "1000 to 768000", rate)  # noqa: PLR2004
        most = 1 if self.coding == "gsm" else 64
        require(1 <= self.channels <= most, "channels", f"1 to {most}", self.channels)


def sniff(head: bytes, name: str, *, perhaps_raw: bool = False) -> str:
    """Name the format of a file by its first bytes (`SNIFFED_BYTES`, fewer in a short file).

    With *perhaps_raw*, bytes of no known format are ``raw``. Bytes that could be an MPEG frame are
    ``raw`` too, because 8-bit codings may start with these bytes.

    Only these formats reach a decoder. libsndfile supports a dozen more, such as MATLAB matrices;
    leaving them out keeps hostile bytes away from their parsers.

    Raises:
        RefusedRecording: see `audioloom_audio.errors`.
    """
    if not head:
        raise RefusedRecording("empty", name, _EXPECTED, "no bytes at all")
    if head[:4] in {b"RIFF", b"RIFX", b"RF64", b"BW64"}:
        return _riff_form(head, name)
    if head[:4] == b"FORM" and head[8:12] in {b"AIFF", b"AIFC"}:
        return "aiff"
    for magic, form in _BY_START:
        if head.startswith(magic):
            return form
    for offset, magic, codec in _UNDECODED:
        if head[offset:].startswith(magic):
            raise RefusedRecording("unsupported_codec", name, _EXPECTED, codec)
    return "raw" if perhaps_raw else _by_frame(head, name)


def _by_frame(head: bytes, name: str) -> str:
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:  # noqa: PLR2004
        raise RefusedRecording("unsupported_codec", name, _EXPECTED, "AAC (ADTS)")
    if _is_mpeg_frame(head):
        return "mp3"
    raise RefusedRecording("not_audio", name, _EXPECTED, f"a file that starts with {head[:16]!r}")


def _riff_form(head: bytes, name: str) -> str:
    form = head[8:12]
    if len(form) < 4:  # noqa: PLR2004 - a RIFF form has four letters
        raise RefusedRecording(
            "bad_header", name, "a RIFF header of 12 bytes", f"a file of {len(head)} bytes"
        )
    if form != b"WAVE":
        raise RefusedRecording(
            "not_audio", name, "a RIFF file that holds WAVE", f"RIFF with {form!r}"
        )
    return "rf64" if head[:4] in {b"RF64", b"BW64"} else "wav"


def _is_mpeg_frame(head: bytes) -> bool:
    """Whether *head* starts with a valid MPEG audio frame header (layer I, II or III)."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:  # noqa: PLR2004
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    bitrate, rate = head[2] >> 4, head[2] >> 2 & 3
    return version != 1 and layer != 0 and bitrate not in {0, 15} and rate != 3  # noqa: PLR2004


def declared_size(head: bytes, form: str) -> int | None:
    """The size of the whole file by its header, for formats with a size in the header.

    libsndfile does not compare it with the bytes of the file, so a cut file would look whole.
    """
    if len(head) < SNIFFED_BYTES:
        return None
    if form == "aiff":
        return 8 + int(struct.unpack_from(">I", head, 4)[0])
    if form == "w64":
        return int(struct.unpack_from("<Q", head, 16)[0])
    if form == "au":
        offset, size = struct.unpack_from(">II" if head[:4] == b".snd" else "<II", head, 4)
        return None if size == _AU_UNKNOWN else int(offset + size)
    return None


def forms_of(name: str) -> set[str]:
    """The formats that a file of this *name* may have by its extension; empty if it is unknown."""
    return _EXTENSIONS.get(name.rpartition(".")[2].lower(), set())
