from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_audio import DigestingReader, ExtractionSettings, extract
from audioloom_featurizer.extraction import members as members_module
from audioloom_featurizer.extraction import recording as extract_module
from audioloom_featurizer.extraction.recording import Extracted, Refused, same_time, utc
from audioloom_storage import Location, Unavailable, locate, open_read
from featurizer_work import extracted, header_only, with_nan, write_wav
from hypothesis import given
from hypothesis import strategies as st

SETTINGS = ExtractionSettings(window_seconds=1.0, windows="all")
SECOND = 10**9
NOON = 1769860800 * SECOND
TIMES = st.integers(0, 2**62)


def row_of(path: Path, **other: Any) -> dict[str, Any]:
    """The row of the inventory, as the file is now."""
    found = path.stat() if path.is_file() else None
    return {
        "path": path.name,
        "member": None,
        "size": found.st_size if found else 1,
        "modified_ns": found.st_mtime_ns if found else 2,
        "label": "yes",
        "target": 0.5,
        "group": "g",
        **other,
    }


def outcome_of(
    path: Path, settings: ExtractionSettings = SETTINGS, **other: Any
) -> Extracted | Refused:
    row = row_of(path, **other)
    with extracted(locate(path.parent), row, settings) as outcome:
        if isinstance(outcome, Extracted):
            list(outcome.values())
        return outcome


def html(path: Path) -> Path:
    path.write_bytes(b"<!DOCTYPE html><html></html>" * 10)
    return path


def empty(path: Path) -> Path:
    path.touch()
    return path


def dangling(path: Path) -> Path:
    path.symlink_to("nowhere")
    return path


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("make", "kind", "stage"),
    [
        (html, "not_audio", "header"),
        (empty, "empty", "header"),
        (dangling, "missing", "open"),
        (pipe, "not_a_file", "open"),
        (with_nan, "non_finite", "samples"),
    ],
)
def test_a_refusal_is_a_row_of_the_ledger(tmp_path: Path, make: Any, kind: str, stage: str) -> None:
    """Class, place and reason stand there, whatever was wrong."""
    outcome = outcome_of(make(tmp_path / "x.wav"))
    assert isinstance(outcome, Refused)
    found = outcome.row
    assert ("x.wav", kind, stage, False) == (
        found["path"], found["class"], found["stage"], found["retryable"]
    )  # fmt: skip
    assert found["message"]


def test_a_header_without_samples_is_refused(tmp_path: Path) -> None:
    """It is not features of silence."""
    outcome = outcome_of(header_only(tmp_path / "is.wav"))
    assert isinstance(outcome, Refused)
    assert "empty" == outcome.kind


def test_a_late_refusal_leaves_no_windows(tmp_path: Path) -> None:
    """NaN in the last sample of twelve seconds: eleven windows were ready, and none is kept."""
    row = row_of(with_nan(tmp_path / "x.wav"))
    with extracted(locate(tmp_path), row, SETTINGS) as outcome:
        assert isinstance(outcome, Refused)
        assert "non_finite" == outcome.kind


@pytest.mark.parametrize("head", [5000, 1 << 20])
def test_a_digest_of_the_head_reads_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: int
) -> None:
    """It covers the first bytes and the size; a recording that is longer is not read to its end."""
    monkeypatch.setattr(extract_module, "HEAD_BYTES", head)
    path = write_wav(tmp_path / "x.wav", 60.0)
    data, settings, read = path.read_bytes(), replace(SETTINGS, windows="first"), 0

    class Counting(extract_module.MonitoredFile):
        def read(self, size: int = -1, /) -> bytes:
            nonlocal read
            found = super().read(size)
            read += len(found)
            return found

    monkeypatch.setattr(extract_module, "MonitoredFile", Counting)
    with extracted(locate(tmp_path), row_of(path), settings, whole=False) as outcome:
        assert isinstance(outcome, Extracted)
        (row,) = outcome.rows
    digest = hashlib.sha256(data[:head]).hexdigest()
    assert hashlib.sha256(f"{digest} {len(data)}".encode()).hexdigest() == row["recording_sha256"]
    assert len(data) == row["recording_bytes"]
    assert head > len(data) or read < len(data) / 2


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_windows_are_those_of_the_extraction(tmp_path: Path, dtype: Any) -> None:
    """Values, numbers and checksum are what the file gives, through scratch and back."""
    path = write_wav(tmp_path / "x.wav", 2.5)
    settings = ExtractionSettings(window_seconds=1.0, windows="all", dtype=dtype)
    row = row_of(path)
    with path.open("rb") as file:
        expected = list(extract(file, settings))
    with extracted(locate(tmp_path), row, settings) as outcome:
        assert isinstance(outcome, Extracted)
        values = [np.frombuffer(value, dtype) for value in outcome.values()]
    assert [0, 1, 2] == [each["window"] for each in outcome.rows]
    for window, value in zip(expected, values, strict=True):
        assert (window.values.ravel() == value).all()
    first = outcome.rows[0]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == first["recording_sha256"]
    assert (2.5, 8000, 1, "wav/pcm_16", path.stat().st_size) == tuple(
        first[f"recording_{name}"] for name in ("seconds", "rate", "channels", "format", "bytes")
    )


def test_the_checksum_is_of_the_whole_file(tmp_path: Path) -> None:
    """Although only the first window is decoded."""
    path = write_wav(tmp_path / "x.wav", 30)
    outcome = outcome_of(path, ExtractionSettings(window_seconds=1.0, windows="first"))
    assert isinstance(outcome, Extracted)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == outcome.rows[0]["recording_sha256"]
    assert 30.0 == outcome.seconds


def test_a_recording_cut_short_is_kept_and_flagged(tmp_path: Path) -> None:
    """What is there is used, and the row says that it is not all."""
    path = write_wav(tmp_path / "x.wav", 2)
    path.write_bytes(path.read_bytes()[:-8000])
    outcome = outcome_of(path)
    assert isinstance(outcome, Extracted)
    assert outcome.flagged
    assert "truncated" in outcome.rows[0]["flags"]


def test_a_recording_that_was_changed_since_the_scan(tmp_path: Path) -> None:
    """The run is named by the listing, so what was not listed has no place in it."""
    path = write_wav(tmp_path / "x.wav")
    outcome = outcome_of(path, size=99)
    assert isinstance(outcome, Refused)
    assert ("changed", "expected 99 bytes as listed, found 8044: scan again", False) == (
        outcome.kind,
        outcome.row["message"],
        outcome.row["retryable"],
    )


def test_other_samples_of_the_same_length_are_changed(tmp_path: Path) -> None:
    """Only the time tells; both times are said, to the digit in which they differ."""
    path = write_wav(tmp_path / "x.wav")
    os.utime(path, ns=(0, 1769861111_123456789))
    row = row_of(path)
    write_wav(path, seed=1)
    os.utime(path, ns=(0, 1769861111_123456790))
    with extracted(locate(tmp_path), row, SETTINGS) as outcome:
        assert isinstance(outcome, Refused)
    found = outcome.row
    assert ("changed", "open", row["modified_ns"]) == (
        found["class"], found["stage"], found["modified_ns"]
    )  # fmt: skip
    expected = (
        "expected it last modified at 2026-01-31T12:05:11.123456789Z as listed, found"
        " 2026-01-31T12:05:11.123456790Z: scan again"
    )
    assert expected == found["message"]


@pytest.mark.parametrize("make", [write_wav, html, with_nan])
def test_a_recording_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    """It was another one before the end: good or bad, what was read belongs to no listing."""
    path = make(tmp_path / "x.wav")
    row = row_of(path)

    class ChangesMeanwhile(DigestingReader):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            os.utime(path, ns=(0, 5))

    monkeypatch.setattr(extract_module, "DigestingReader", ChangesMeanwhile)
    with extracted(locate(tmp_path), row, SETTINGS) as outcome:
        assert isinstance(outcome, Refused)
    assert "changed" == outcome.kind


def test_a_name_that_is_no_text_is_refused_as_such(tmp_path: Path) -> None:
    """It was listed with its bytes written out; a file that is called just that is read."""
    with open(bytes(tmp_path) + b"/caf\xe9.wav", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    outcome = outcome_of(tmp_path / r"caf\xe9.wav")
    assert isinstance(outcome, Refused)
    assert ("bad_name", "open", False) == (
        outcome.kind, outcome.row["stage"], outcome.row["retryable"]
    )  # fmt: skip
    assert isinstance(outcome_of(write_wav(tmp_path / r"caf\xe9.wav")), Extracted)


def test_storage_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few times; then the ledger says that trying again may help."""
    path = write_wav(tmp_path / "x.wav")
    opened: list[str] = []

    def fails_twice(location: Location) -> Any:
        opened.append(location.name)
        if len(opened) < limit:
            raise Unavailable("the disk is tired", where=location)
        return open_read(location)

    monkeypatch.setattr(members_module, "open_read", fails_twice)
    monkeypatch.setattr(extract_module, "WAIT_SECONDS", 0)
    limit = 3
    assert isinstance(outcome_of(path), Extracted)
    assert 3 == len(opened)
    opened.clear()
    limit = 9
    outcome = outcome_of(path)
    assert isinstance(outcome, Refused)
    assert ("unavailable", True, 3) == (outcome.kind, outcome.row["retryable"], len(opened))


@given(TIMES, st.sampled_from([1, 1000, 10**6, SECOND, 60 * SECOND]))
def test_what_a_listing_rounded_down_is_the_same(found: int, resolution: int) -> None:
    """Whatever the listing could tell: the file need not have changed."""
    assert same_time(found // resolution * resolution, found)


@given(TIMES, st.integers(1, 2**62))
def test_another_time_is_another(listed: int, later: int) -> None:
    """Times to the nanosecond are compared to the nanosecond, both ways."""
    listed += listed % 10 == 0
    assert not same_time(listed, listed + later)
    after = listed + later
    after += after % 10 == 0
    assert not same_time(after, listed)


@pytest.mark.parametrize(
    ("listed", "found", "same"),
    [
        (NOON + 7 * SECOND, NOON + 7 * SECOND + 999_999_999, True),
        (NOON + 7 * SECOND, NOON + 8 * SECOND, False),
        (NOON + 7 * SECOND, NOON + 7 * SECOND - 1, False),
        (NOON + 7_001_000_000, NOON + 7_001_999_999, True),
        (NOON + 7_001_000_000, NOON + 7_002_000_000, False),
        (NOON, NOON + 59 * SECOND, True),
        (NOON, NOON + 60 * SECOND, False),
        (None, NOON, True),
    ],
)
def test_as_far_as_the_listing_tells(listed: int | None, found: int, same: bool) -> None:
    """Seconds, the milliseconds of HDFS, and the minutes of an fsimage's dump."""
    assert same == same_time(listed, found)


def test_a_time_is_shown_to_the_nanosecond() -> None:
    """And one that no calendar has as a number."""
    assert "2026-01-31T12:00:00.000000007Z" == utc(NOON + 7)
    assert f"{2**63 - 1}" in utc(2**63 - 1) or utc(2**63 - 1).startswith("2262-")
    assert "1000000000000000000000 ns since 1970" == utc(10**21)
