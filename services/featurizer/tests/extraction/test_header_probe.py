from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import soundfile
from audioloom_audio import ExtractionSettings, LogMel, Recording
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.commands.plan import plan
from audioloom_featurizer.extraction.header_probe import fit, read_headers
from audioloom_featurizer.sandbox.messages import CrashHistory, Refusal
from audioloom_featurizer.settings import InspectSettings, PlanSettings
from audioloom_storage import locate
from featurizer_containers import make_zip
from featurizer_work import features_of, header_only, scan, write_wav
from hypothesis import given
from hypothesis import strategies as st

LENGTHS = st.lists(st.floats(0.05, 30), min_size=1, max_size=5)


def settings_of(**more: Any) -> ExtractionSettings:
    return ExtractionSettings(**{"sample_rate": 8000, "window_seconds": 1.0, **more})


def header(seconds: float, rate: int = 8000) -> Recording:
    return Recording("wav", "pcm_16", rate, 1, round(seconds * rate))


@pytest.mark.parametrize(
    ("seconds", "more", "padding", "flags"),
    [
        ([1.0] * 10, {"window_seconds": 10.0}, 0.9, ["--window-seconds 1"]),
        ([0.9] * 9 + [8.0] * 2, {"window_seconds": 10.0}, 0.781, []),
        ([1.0] * 10, {}, 0.0, []),
        ([0.6] * 10, {}, 0.4, []),
        ([2.5] * 10, {"windows": "all"}, 1 / 6, []),
        ([1.5] * 10, {"windows": "all", "hop_seconds": 0.5}, 0.0, []),
        ([], {}, 0.0, []),
    ],
)
def test_much_padding_is_told(
    seconds: list[float], more: dict[str, Any], padding: float, flags: list[str]
) -> None:
    """With the window that nine of ten recordings fit into, if there is a shorter one."""
    share, advice = fit([header(each) for each in seconds], settings_of(**more))
    assert padding == pytest.approx(share, abs=1e-3)
    assert flags == [text.partition("(")[2].rstrip(")") for text in advice]


@pytest.mark.parametrize(
    ("rate", "asked", "flag"),
    [
        (8000, 16000, "--preset speech-8k"),
        (11025, 16000, "--sample-rate 11025"),
        (16000, 16000, None),
        (44100, 16000, None),
    ],
)
def test_a_rate_above_that_of_the_recordings_is_told(
    rate: int, asked: int, flag: str | None
) -> None:
    """Telephone audio holds nothing above 4 kHz."""
    headers = [header(1.0, rate)] * 3 + [header(1.0, 48000)]
    _, advice = fit(headers, settings_of(sample_rate=asked))
    assert (flag is not None) == bool(advice)
    assert all(f"({flag})" in text for text in advice)


@given(LENGTHS, st.sampled_from(["first", "all"]), st.floats(0.2, 3))
def test_padding_is_a_share(seconds: list[float], windows: str, hop: float) -> None:
    """Of none or of most, whatever the lengths."""
    headers = [header(each) for each in seconds]
    padding, _ = fit(headers, settings_of(windows=windows, hop_seconds=hop))
    assert 0 <= padding < 1


def test_the_plan_is_the_share_that_comes(source: Path, root: Path) -> None:
    """As `inspect` counts it afterwards, but for frames at the edges."""
    recordings = str(scan(source, root).text)
    asked = {"window_seconds": 5.0, "feature": "log-mel"}
    planned = plan(PlanSettings(recordings=recordings, **asked))
    opened = features_of(source, root, **asked)
    contents = inspect(InspectSettings(manifest=str(opened.location))).data["contents"]
    assert planned.data["padding"] == pytest.approx(contents["padding"], abs=0.01)
    assert 7 == planned.data["recordings_probed"]
    window, rate = planned.data["advice"]
    assert "(--window-seconds 1)" in window
    assert "(--preset speech-8k)" in rate
    assert window in str(planned.text)


def test_what_cannot_be_read_is_left_out(source: Path) -> None:
    """Damaged, missing, and what a decoder died of; members of containers are read."""
    header_only(source / "bad.wav")
    (source / "html.wav").write_bytes(b"<html>")
    write_wav(source / "good.wav", 2.0)
    make_zip(source / "a.zip", {"in.wav": (source / "good.wav").read_bytes()})
    size = (source / "good.wav").stat().st_size
    rows = [
        {"path": name, "member": member, "offset": None, "size": size, "modified_ns": None}
        for name, member in (
            ("html.wav", None),
            ("missing.wav", None),
            ("good.wav", None),
            ("a.zip/in.wav", "in.wav"),
            ("a.zip/no.wav", "no.wav"),
            ("good.wav", None),
        )
    ]
    died = Refusal("decoder_died", "header", None, "it died", retryable=False)
    settings = ExtractionSettings(LogMel())
    found = read_headers(locate(source), settings, rows, CrashHistory({5: died}))
    assert [(2.0, 8000)] * 2 == [(each.seconds, each.sample_rate) for each in found]


def test_a_recording_of_unknown_length_says_nothing(source: Path) -> None:
    """Its header does not tell."""
    soundfile.write(source / "x.mp3", [0.0] * 16000, 16000, format="MP3")
    size = (source / "x.mp3").stat().st_size
    row = {"path": "x.mp3", "member": None, "offset": None, "size": size, "modified_ns": None}
    assert len(read_headers(locate(source), ExtractionSettings(), [row])) <= 1
