from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from audioloom_featurizer.commands.inspect import inspect
from audioloom_featurizer.errors import Disagreement, MissingLibrary
from audioloom_featurizer.extraction import agreement, sample
from audioloom_featurizer.extraction.sample import Candidate, compare_sample
from audioloom_featurizer.extraction.unit import UnitContext
from audioloom_featurizer.sandbox.messages import CrashHistory, Refusal
from audioloom_featurizer.settings import InspectSettings
from audioloom_manifest.reader import Opened
from featurizer_work import LIMITS, done, features_of, header_only

DIED = Refusal("decoder_died", "samples", None, "it died", retryable=False)


@pytest.fixture(autouse=True)
def _whole_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run of users."""
    monkeypatch.setattr(sample, "SAMPLE", 4)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[UnitContext, list[Candidate]]]:
    """What the sample of each run was compared with."""
    found: list[tuple[UnitContext, list[Candidate]]] = []

    def keep(context: UnitContext, candidates: list[Candidate], *more: object) -> object:
        found.append((context, candidates))
        return compare_sample(context, candidates, *more)

    monkeypatch.setattr(sample, "compare_sample", keep)
    return found


def made(source: Path, root: Path, **more: object) -> Opened:
    """A run with two recordings that are refused."""
    header_only(source / "no" / "s8-bad.wav")
    header_only(source / "yes" / "s9-bad.wav")
    return features_of(source, root, error_budget="2", **more)


@pytest.mark.parametrize("feature", ["mfcc", "log-mel"])
def test_every_run_is_compared_with_librosa(source: Path, root: Path, feature: str) -> None:
    """By a sample of its recordings that hold, whose largest difference is recorded and shown."""
    opened = made(source, root, feature=feature, windows="all")
    found = opened.manifest.stats.agreement
    assert (sample.SAMPLE, sample.SAMPLE) == (found.recordings, found.windows)
    assert found.library.startswith("librosa ")
    assert 0 < found.deviation < 1e-4
    shown = str(inspect(InspectSettings(manifest=str(opened.location))).text)
    assert f"{found.deviation}" in shown.partition("computed again")[2]


@pytest.mark.parametrize("feature", ["waveform", "examples/librosa_features.py:chroma"])
def test_what_librosa_has_not_is_not_compared(source: Path, root: Path, feature: str) -> None:
    """Samples, and functions of any library."""
    folder = Path(__file__).parents[2]
    place = feature if "/" not in feature else str(folder / feature)
    assert made(source, root, feature=place).manifest.stats.agreement is None


def test_values_that_are_not_librosas_are_not_committed(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would notice later."""
    monkeypatch.setattr(agreement, "NORMALISED", 0.0)
    monkeypatch.setattr("audioloom_audio.Mfcc.agreement", 0.0)
    with pytest.raises(Disagreement, match=r"channel -1: \d\.\de-0\d from librosa"):
        made(source, root)
    assert [] == [*root.glob("features/*/manifest.json")]


def test_librosa_is_needed_before_anything_is_read(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that could not be compared at its end would have been for nothing."""
    monkeypatch.setitem(sys.modules, "librosa", None)
    with pytest.raises(MissingLibrary, match="pip install librosa"):
        made(source, root, engine="numpy")
    assert [] == [*root.glob("features/*")]


def test_recordings_that_are_gone_are_left_out(
    source: Path, root: Path, asked: list[tuple[UnitContext, list[Candidate]]]
) -> None:
    """The features were computed from what was there: a source that moves on is no fault."""
    made(source, root)
    ((context, candidates),) = asked
    (source / candidates[0].path).unlink()
    found = compare_sample(context, candidates)
    assert (1, sample.SAMPLE - 1) == (len(found.unread), found.recordings)


def test_a_recording_that_kills_the_decoder_is_left_out(
    source: Path, root: Path, asked: list[tuple[UnitContext, list[Candidate]]]
) -> None:
    """As in a unit: the supervisor names it."""
    made(source, root)
    ((context, candidates),) = asked
    history = CrashHistory(dict.fromkeys(range(len(candidates) - 2), DIED))
    found = compare_sample(context, candidates, history)
    assert found.recordings <= 2


def test_the_sample_is_decoded_by_a_child(
    source: Path,
    root: Path,
    asked: list[tuple[UnitContext, list[Candidate]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under the limits of all recordings, with the same result."""
    made(source, root, windows="all")
    ((context, candidates),) = asked
    monkeypatch.undo()  # only the function itself can be pickled
    limits = replace(LIMITS, memory=1 << 30, seconds=60)
    again = done(partial(compare_sample, context), candidates, limits)
    assert compare_sample(context, candidates) == again
