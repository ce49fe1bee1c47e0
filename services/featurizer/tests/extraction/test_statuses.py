"""What becomes of each kind of file that archives hold: features, perhaps flagged, or a class."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from audioloom_audio import ExtractionSettings, Flag, Kind, RawFormat
from audioloom_featurizer.extraction import members as members_module
from audioloom_featurizer.extraction import recording as extract_module
from audioloom_featurizer.extraction.recording import Extracted
from audioloom_featurizer.sandbox.messages import Cause
from audioloom_storage import Location, PermissionDenied, StorageError, UnsafePath, locate
from featurizer_specimens import samples, specimens, wave
from featurizer_work import extracted

README = Path(__file__).parents[2] / "README.md"

PCM = (samples() * 20000).astype("<i2").tobytes()
FLOAT = samples().astype("<f4")
OPPOSITE = np.outer(np.frombuffer(PCM, "<i2"), np.array([1, -1], "<i2")).tobytes()
GUID = bytes.fromhex("000000001000800000aa00389b71")


def extensible(tag: int, bits: int) -> bytes:
    return struct.pack("<HHIH", 22, bits, 0, tag) + GUID


def floats(value: float, at: int = 100) -> bytes:
    """A float recording with one sample of this value."""
    data = FLOAT.copy()
    data[at] = value
    return wave(data.tobytes(), tag=3, bits=32)


def patched(name: str, offset: int, new: bytes) -> bytes:
    data = bytearray(specimens()[name])
    data[offset : offset + len(new)] = new
    return bytes(data)


def chunk(name: bytes, body: bytes, size: int | None = None) -> bytes:
    return name + struct.pack("<I", len(body) if size is None else size) + body


OK: tuple[str, ...] = ()
LIES, CUT, MISNAMED = ("header_lies",), ("truncated",), ("wrong_container",)
FLAC = "flac-pcm_16-16000-2.flac"
MP3 = "mp3-mpeg_layer_iii-44100-2.mp3"
OGG = "ogg-vorbis-44100-2.ogg"

# File name, bytes, flags or class.
CASES: list[tuple[str, bytes, tuple[str, ...] | str]] = [
    *((name, data, OK) for name, data in specimens().items() if not name.endswith(".raw")),
    # The recorder died, or could not seek.
    ("size-0.wav", wave(PCM, size=0), LIES),
    ("size-ffffffff.wav", wave(PCM, size=0xFFFFFFFF), LIES),
    ("size-7fffffff.wav", wave(PCM, size=0x7FFFFFFF), LIES),
    ("size-7ffff000.wav", wave(PCM, size=0x7FFFF000), LIES),
    ("size-80000000.wav", wave(PCM, size=0x80000000), LIES),
    ("header-only.wav", wave(b""), "empty"),
    ("header-only-claims.wav", wave(b"", size=22_675 * 2), "empty"),
    ("nothing.wav", b"", "empty"),
    ("half-a-header.wav", wave(PCM)[:20], "bad_header"),
    ("half-a-magic.wav", b"RIFF\0\0", "bad_header"),
    ("cut.wav", wave(PCM)[:-1000], CUT),
    ("cut-inside-a-sample.wav", wave(PCM)[:-1001], ("partial_frame", "truncated")),
    ("odd.wav", wave(PCM + b"x"), ("partial_frame",)),
    ("junk-behind.wav", wave(PCM, after=b"\xff\xfe" * 50), ("trailing_bytes",)),
    ("cut.mp3", specimens()[MP3][:-3000], CUT),
    ("cut.flac", specimens()[FLAC][:-9000], "damaged"),
    ("cut.aiff", specimens()["aiff-pcm_16-8000-2.aiff"][:-999], CUT),
    ("cut.au", specimens()["au-pcm_16-8000-1.au"][:-999], CUT),
    ("cut.w64", specimens()["w64-pcm_16-8000-1.w64"][:-999], CUT),
    ("more-frames-than-there-are.au", patched("au-ulaw-8000-1.au", 8, b"\x7f\xff\xff\0"), CUT),
    # Chunks.
    ("list-before-fmt.wav", wave(PCM, first=chunk(b"LIST", b"INFO" + bytes(20))), OK),
    ("malformed-list.wav", wave(PCM, before=chunk(b"LIST", b"INFOISFT\xff\xff\xff\x7f")), OK),
    ("odd-chunk-padded.wav", wave(PCM, before=chunk(b"note", b"abc") + b"\0"), OK),
    ("odd-chunk-unpadded.wav", wave(PCM, before=chunk(b"note", b"abc")), "bad_header"),
    ("junk-chunk.wav", wave(PCM, first=chunk(b"JUNK", bytes(28))), OK),
    ("extensible-pcm.wav", wave(PCM, tag=0xFFFE, tail=extensible(1, 16)), OK),
    ("extensible-mulaw.wav", wave(PCM, tag=0xFFFE, bits=8, tail=extensible(7, 8)), OK),
    # pocketsphinx's four.
    ("bad.wav", b"RIFF\x24\0\0\0WAVEfmt " + b"ffff" + PCM, "bad_header"),
    ("evil.wav", b"RIFF\x24\0\0\0WAVE" + chunk(b"\x90\x01\xff\0", PCM), "bad_header"),
    ("awful.wav", wave(PCM, rate=1_092_676), "bad_rate"),
    ("null.wav", wave(b"", before=chunk(b"LIST", b"INFO")), "empty"),
    # Codings, rates, channels.
    ("mp3-in-wav.wav", wave(PCM, tag=0x55, bits=0, tail=bytes(14)), "unsupported_codec"),
    ("g729.wav", wave(PCM, tag=0x83, bits=0), "unsupported_codec"),
    ("g722.wav", wave(PCM, tag=0x28F, bits=4), "unsupported_codec"),
    ("opus.wav", wave(PCM, tag=0x704F, bits=0), "unsupported_codec"),
    ("tag-of-nobody.wav", wave(PCM, tag=0x4242), "unsupported_codec"),
    *((f"{bits}-bit.wav", wave(PCM, bits=bits), "unsupported_codec") for bits in (36, 45, 53, 64)),
    ("amr.wav", b"#!AMR\n" + PCM, "unsupported_codec"),
    ("m4a.wav", b"\0\0\0 ftypM4A " + PCM, "unsupported_codec"),
    ("rate-0.wav", wave(PCM, rate=0), "bad_rate"),
    ("rate-1.wav", wave(PCM, rate=1), "bad_rate"),
    ("rate-ffffffff.wav", wave(PCM, rate=0xFFFFFFFF), "bad_rate"),
    ("rate-128k.wav", wave(PCM, rate=128_000), OK),
    ("channels-0.wav", wave(PCM, channels=0), "bad_channels"),
    ("channels-65.wav", wave(PCM, channels=65), "bad_channels"),
    ("channels-65535.wav", wave(PCM * 20, channels=0xFFFF), "bad_channels"),
    ("channels-6-192k.wav", wave(PCM[:9600], channels=6, rate=192_000), OK),
    # Values.
    ("nan.wav", floats(np.nan), "non_finite"),
    ("infinite.wav", floats(np.inf), "non_finite"),
    ("huge.wav", floats(1e38), "out_of_range"),
    ("loud.wav", floats(1.5), ("over_full_scale",)),
    ("silence.wav", wave(bytes(8000)), ("silent",)),
    ("opposite.wav", wave(OPPOSITE, channels=2), ("silent",)),
    ("ten-samples.wav", wave(PCM[:20]), OK),
    # Names.
    ("mp3.wav", specimens()[MP3], MISNAMED),
    ("ogg.wav", specimens()[OGG], MISNAMED),
    ("wav.mp3", wave(PCM), MISNAMED),
    ("CAPITALS.WAV", wave(PCM), OK),
    ("page.wav", b"<!DOCTYPE html><html></html>", "not_audio"),
    ("gsm-without-header.wav", specimens()["raw-gsm610-8000-1.raw"], "not_audio"),
    ("text.wav", "a recording, not".encode("utf-16"), "not_audio"),
    ("avi.wav", b"RIFF\x24\0\0\0AVI LIST" + PCM, "not_audio"),
]  # fmt: skip


def outcome_of(path: Path, **settings: Any) -> Any:
    found = path.stat()
    row = {
        "path": path.name, "member": None, "size": found.st_size, "modified_ns": found.st_mtime_ns,
        "label": None, "target": None, "group": None,
    }  # fmt: skip
    wanted = ExtractionSettings(**{"window_seconds": 0.5, "windows": "all", **settings})
    with extracted(locate(path.parent), row, wanted) as outcome:
        if isinstance(outcome, Extracted):
            for value in outcome.values():
                assert np.isfinite(np.frombuffer(value, "<f4")).all()
        return outcome


@pytest.mark.parametrize(("name", "data", "status"), CASES, ids=[name for name, *_ in CASES])
def test_a_file_has_the_status_that_it_should(
    tmp_path: Path, name: str, data: bytes, status: tuple[str, ...] | str
) -> None:
    """In the features, with what was noticed, or in the ledger, with why; values are finite."""
    path = tmp_path / name
    path.write_bytes(data)
    outcome = outcome_of(path)
    if isinstance(outcome, Extracted):
        assert status == tuple(outcome.rows[0]["flags"])
        assert outcome.seconds > 0
    else:
        assert status == outcome.kind, outcome.row["message"]
        assert not outcome.row["retryable"]


def test_a_length_that_the_header_does_not_say(tmp_path: Path) -> None:
    """A FLAC from a pipe, of which the first window is wanted: as long as was read, and flagged."""
    path = tmp_path / "x.flac"
    data = bytearray(specimens()[FLAC])
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    path.write_bytes(data)
    first, whole = outcome_of(path, windows="first"), outcome_of(path)
    assert ["length_unknown"] == first.rows[0]["flags"]
    assert [] == whole.rows[0]["flags"]
    assert 0.5 <= first.seconds < whole.seconds


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("raw-ulaw-8000-1.raw", RawFormat("mulaw")),
        ("raw-alaw-8000-1.raw", RawFormat("alaw")),
        ("raw-gsm610-8000-1.raw", RawFormat("gsm")),
    ],
)
def test_without_a_header_they_are_what_is_said(tmp_path: Path, name: str, raw: RawFormat) -> None:
    """And refused where nothing is."""
    path = tmp_path / name
    path.write_bytes(specimens()[name])
    assert isinstance(outcome_of(path, raw=raw), Extracted)
    assert "not_audio" == outcome_of(path).kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PermissionDenied, "no_permission"),
        (UnsafePath, "unsafe_path"),
        (StorageError, "storage"),
    ],
)
def test_a_file_that_storage_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[StorageError], kind: str
) -> None:
    """Its class says who has to mend it."""

    def fails(location: Location) -> Any:
        raise error(where=location, expected="a file", found="none")

    path = tmp_path / "x.wav"
    path.write_bytes(wave(PCM))
    monkeypatch.setattr(members_module, "open_read", fails)
    assert kind == outcome_of(path).kind


def test_an_error_that_nobody_thought_of_has_a_class_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file is one row, and the message says what to report."""

    def fails(*_: Any, **__: Any) -> Any:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    path = tmp_path / "x.wav"
    path.write_bytes(wave(PCM))
    monkeypatch.setattr(extract_module, "extract", fails)
    outcome = outcome_of(path)
    assert "unexpected" == outcome.kind
    assert "UnicodeDecodeError" in outcome.row["message"]


def test_memory_that_a_decoder_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absurd wish fails at once, and is the recording's."""

    def fails(*_: Any, **__: Any) -> Any:
        return bytearray(1 << 60)

    path = tmp_path / "x.wav"
    path.write_bytes(wave(PCM))
    monkeypatch.setattr(extract_module, "extract", fails)
    outcome = outcome_of(path)
    assert ("decoder_memory", True) == (outcome.kind, outcome.row["retryable"])


def test_the_table_of_the_readme_names_every_status() -> None:
    """And none that there is not."""
    section = README.read_text().partition("\n## Statuses\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
    assert len(named) == len(set(named))
    assert {"ok", *get_args(Flag), *get_args(Kind), *get_args(Cause)} == set(named)
