from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_featurizer import extract as extract_module
from audioloom_featurizer.extract import Extracted, Refused, extract_recording
from audioloom_mfcc import MfccSettings, extract
from audioloom_storage import Location, Unavailable, locate, open_read
from featurizer_work import header_only, with_nan, write_wav

SETTINGS = MfccSettings(window_seconds=1.0, windows="all")


def size_of(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 1


def outcome_of(path: Path, settings: MfccSettings = SETTINGS) -> Extracted | Refused:
    row: dict[str, Any] = {
        "path": path.name, "member": None, "size": size_of(path), "modified_ns": 2,
        "label": "yes", "target": 0.5, "group": "g",
    }  # fmt: skip
    with extract_recording(locate(path.parent), row, settings) as outcome:
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
    with extract_recording(
        locate(tmp_path),
        {"path": with_nan(tmp_path / "x.wav").name, "member": None, "size": 1, "modified_ns": 2,
         "label": None, "target": None, "group": None},
        SETTINGS,
    ) as outcome:  # fmt: skip
        assert isinstance(outcome, Refused)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_windows_are_those_of_the_extraction(tmp_path: Path, dtype: Any) -> None:
    """Values, numbers and checksum are what the file gives, through scratch and back."""
    path = write_wav(tmp_path / "x.wav", 2.5)
    settings = MfccSettings(window_seconds=1.0, windows="all", dtype=dtype)
    row = {
        "path": "x.wav", "member": None, "size": size_of(path), "modified_ns": 2,
        "label": "yes", "target": None, "group": "g",
    }  # fmt: skip
    with path.open("rb") as file:
        expected = list(extract(file, settings))
    with extract_recording(locate(tmp_path), row, settings) as outcome:
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
    outcome = outcome_of(path, MfccSettings(window_seconds=1.0, windows="first"))
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
    row = {
        "path": write_wav(tmp_path / "x.wav").name, "member": None, "size": 99, "modified_ns": 2,
        "label": None, "target": None, "group": None,
    }  # fmt: skip
    with extract_recording(locate(tmp_path), row, SETTINGS) as outcome:
        assert isinstance(outcome, Refused)
    assert ("changed", "expected 99 bytes as listed, found 8044: scan again") == (
        outcome.kind,
        outcome.row["message"],
    )


def test_storage_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few times; then the ledger says that trying again may help."""
    path = write_wav(tmp_path / "x.wav")
    opened: list[str] = []

    def fails_twice(location: Location) -> Any:
        opened.append(location.name)
        if len(opened) < limit:
            raise Unavailable("the disk is tired", where=location)
        return open_read(location)

    monkeypatch.setattr(extract_module, "open_read", fails_twice)
    monkeypatch.setattr(extract_module, "WAIT_SECONDS", 0)
    limit = 3
    assert isinstance(outcome_of(path), Extracted)
    assert 3 == len(opened)
    opened.clear()
    limit = 9
    outcome = outcome_of(path)
    assert isinstance(outcome, Refused)
    assert ("unavailable", True, 3) == (outcome.kind, outcome.row["retryable"], len(opened))
