from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audioloom_audio import ExtractionSettings, Feature, LogMel, Mfcc, Waveform
from audioloom_featurizer.extraction import members
from audioloom_featurizer.extraction.agreement import Stored, compare, compare_features
from audioloom_featurizer.verification import need_recordings
from audioloom_manifest.reader import read_manifest
from audioloom_storage import locate
from featurizer_containers import make_tgz
from featurizer_work import extracted, run, scan, write_wav

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


def test_a_container_is_unpacked_once_for_all_its_recordings(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of them are compared."""
    (tmp_path / "packed").mkdir()
    contents = {str(each.relative_to(source)): each.read_bytes() for each in source.rglob("*.wav")}
    make_tgz(tmp_path / "packed" / "a.tgz", contents)
    scanned = str(scan(tmp_path / "packed", root, containers=True).text)
    opened = read_manifest(str(run(scanned).text), "features")
    unpacked: list[str] = []
    before = members.open_container

    def count(path: str, *more: Any) -> Any:
        unpacked.append(path)
        return before(path, *more)

    monkeypatch.setattr(members, "open_container", count)
    assert 7 == compare_features(opened, need_recordings(opened), 7).recordings
    assert ["a.tgz"] == unpacked
