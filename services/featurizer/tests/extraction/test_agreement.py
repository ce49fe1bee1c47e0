from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from audioloom_audio import ExtractionSettings, Feature, LogMel, Mfcc, Waveform
from audioloom_featurizer.extraction.agreement import Stored, compare
from audioloom_storage import locate
from featurizer_work import extracted, write_wav

QUIET = 1e-3


def stored(folder: Path, settings: ExtractionSettings) -> Stored:
    """The windows of the one recording of a folder, by the settings' engine."""
    row = dict.fromkeys(("member", "label", "target", "group", "modified_ns"))
    row |= {"path": "a.wav", "size": (folder / "a.wav").stat().st_size}
    with extracted(locate(folder), row, settings) as outcome:
        places = [(each["window"], each["channel"]) for each in outcome.rows]
        values = [np.frombuffer(each, settings.dtype).astype(float) for each in outcome.values()]
    return Stored(row, dict(zip(places, values, strict=True)))


@pytest.mark.parametrize("feature", [Mfcc(), LogMel(), Waveform()], ids=lambda each: each.name)
@pytest.mark.parametrize("normalise", ["window", "none"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_values_within_the_contract_hold(
    tmp_path: Path, feature: Feature, normalise: str, dtype: str
) -> None:
    """Normalised or not, and rounded."""
    write_wav(tmp_path / "a.wav", 2.5)
    own = {"normalise": normalise, "dtype": dtype}
    settings = ExtractionSettings(feature, 8000, 1.0, windows="all", **own)
    found = compare([stored(tmp_path, settings)], locate(tmp_path), settings)
    assert (1, 3, []) == (found.recordings, found.windows, found.problems)


@pytest.mark.parametrize(("normalise", "error"), [("window", 1e-3), ("none", 1e-3)])
def test_a_value_outside_the_contract_is_named(
    tmp_path: Path, normalise: str, error: float
) -> None:
    """One of many, with its window."""
    write_wav(tmp_path / "a.wav", 2.5)
    settings = ExtractionSettings(Mfcc(), 8000, 1.0, windows="all", normalise=normalise)
    wrong = stored(tmp_path, settings)
    wrong.windows[1, -1][7] += error
    found = compare([wrong], locate(tmp_path), settings)
    (problem,) = found.problems
    assert problem.startswith("a.wav, window 1 of channel -1: ")
    assert error * 0.6 < found.deviation < error * 1.4


def test_a_window_that_hardly_varies_may_differ_more(tmp_path: Path) -> None:
    """Normalisation enlarges the differences by as much as the values."""
    write_wav(tmp_path / "a.wav", 1.0)
    settings = ExtractionSettings(LogMel(top_db=1.0), 8000, 1.0)
    small = stored(tmp_path, settings)
    assert [] == compare([small], locate(tmp_path), settings).problems


def test_silence_is_constant(tmp_path: Path) -> None:
    """Nothing is compared with values that are all zero by definition."""
    write_wav(tmp_path / "a.wav", 1.0)
    data = bytearray((tmp_path / "a.wav").read_bytes())
    data[44:] = bytes(len(data) - 44)
    (tmp_path / "a.wav").write_bytes(data)
    settings = ExtractionSettings(Mfcc(), 8000, 1.0)
    found = compare([stored(tmp_path, settings)], locate(tmp_path), settings)
    assert (1, 1, 0.0, []) == (found.recordings, found.windows, found.deviation, found.problems)


def test_a_window_too_few_is_a_problem(tmp_path: Path) -> None:
    """It is not there to be compared."""
    write_wav(tmp_path / "a.wav", 2.5)
    settings = ExtractionSettings(Mfcc(), 8000, 1.0, windows="all")
    few = stored(tmp_path, settings)
    del few.windows[1, -1]
    found = compare([few], locate(tmp_path), settings)
    assert ["a.wav: expected 3 windows by librosa, found 2"] == found.problems


def test_comparisons_add_up(tmp_path: Path) -> None:
    """The worst of all windows keeps its place; one that cannot be read again is told."""
    write_wav(tmp_path / "a.wav", 2.5)
    settings = ExtractionSettings(Mfcc(), 8000, 1.0, windows="all")
    good, slight, wrong = (stored(tmp_path, settings) for _ in range(3))
    slight.windows[2, -1][7] += 1e-3
    wrong.windows[1, -1][7] += 1e-2
    gone = good._replace(row={**good.row, "path": "b.wav"})
    found = compare([good, wrong, gone, slight], locate(tmp_path), settings)
    assert (3, 9, 2) == (found.recordings, found.windows, len(found.problems))
    assert "a.wav, window 1 of channel -1" == found.where
    (unread,) = found.unread
    assert unread.startswith("b.wav: expected to read it again, found missing")
