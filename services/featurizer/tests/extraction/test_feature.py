"""Options to features, features to recipes, and back; what does not belong together is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from audioloom_audio import Function, LogMel, Mfcc, Waveform
from audioloom_featurizer.commands.plan import plan
from audioloom_featurizer.commands.verify import verify
from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.extraction.feature import PRESETS, chosen_feature
from audioloom_featurizer.extraction.recipe import recipe_of, settings_from_recipe
from audioloom_featurizer.settings import PlanSettings, VerifySettings
from audioloom_manifest.kinds import RecordingsStats
from audioloom_manifest.reader import Opened, read_manifest
from audioloom_stage.errors import BadConfiguration
from featurizer_work import checksums, features_of, run, scan, supervised

EXAMPLES = Path(__file__).parents[2] / "examples" / "librosa_features.py"
COUNTS = RecordingsStats(recordings=10, bytes=10**6, labelled=0, grouped=0, labels={})
LEVELS = """
import numpy as np

def levels(samples, rate, parts=4):
    return np.sqrt(np.mean(samples.reshape(parts, -1) ** 2, axis=1))
"""


def settings(**options: Any) -> PlanSettings:
    return PlanSettings(recordings="nowhere", window_seconds=1.0, **options)


@pytest.mark.parametrize(
    ("options", "expected", "rate"),
    [
        ({}, Mfcc(), 16000),
        ({"sample_rate": 8000, "n_mfcc": 13, "fmin": 60.0}, Mfcc(n_mfcc=13, fmin=60.0), 8000),
        ({"feature": "log-mel", "n_mels": 64, "level": "recording"},
         LogMel(n_mels=64, level="recording"), 16000),
        ({"feature": "waveform", "sample_rate": 22050}, Waveform(), 22050),
        ({"preset": "speech-8k"}, Mfcc(n_fft=256, hop_length=80, n_mels=40, n_mfcc=20), 8000),
        ({"preset": "speech-16k", "feature": "log-mel", "n_mels": 64},
         LogMel(n_fft=512, hop_length=160, n_mels=64), 16000),
        ({"preset": "speech-8k", "feature": "waveform"}, Waveform(), 8000),
    ],
)  # fmt: skip
def test_options_choose_a_feature(options: dict[str, Any], expected: object, rate: int) -> None:
    """Single options go before the preset, and the preset before librosa's defaults."""
    assert (expected, rate) == chosen_feature(settings(**options))


@pytest.mark.parametrize("name", ["window", "path", "label", "Chroma", "_x", "é"])
def test_a_function_whose_name_no_column_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """Before any unit; the name of the function is that of the column of its values."""
    (tmp_path / "own.py").write_text(f"def {name}(samples, rate):\n    return samples\n")
    with pytest.raises(InvalidOption, match=f"--feature .*own.py:{name}"):
        chosen_feature(settings(feature=f"{tmp_path}/own.py:{name}"))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("feature", ["mfcc", "log-mel", "waveform"])
def test_a_recipe_tells_the_settings(preset: str, feature: str) -> None:
    """All of them, whatever the release's defaults are by then."""
    asked = settings(feature=feature, preset=preset, hop_seconds=0.5, normalise="none")
    recipe = recipe_of(asked, COUNTS)
    found = settings_from_recipe(recipe)
    assert chosen_feature(asked) == (found.feature, found.sample_rate)
    assert (0.5, "none", recipe.feature.shape) == (found.hop_seconds, found.normalise, found.shape)


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"feature": "log-mel", "n_mfcc": 13}, "--n-mfcc"),
        ({"feature": "waveform", "n_fft": 512, "fmax": 4000.0}, "--fmax, --n-fft"),
        ({"feature": "waveform", "level": "recording"}, "--level"),
        ({"feature": "mfcc", "feature_arg": {"a": 1}}, "--feature-arg"),
        ({"feature": f"{EXAMPLES}:chroma", "n_mels": 64}, "--n-mels"),
    ],
)
def test_an_option_of_another_feature_is_refused(options: dict[str, Any], flags: str) -> None:
    """It would do nothing."""
    with pytest.raises(InvalidOption) as caught:
        chosen_feature(settings(**options))
    assert caught.value.where == flags


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ("mfc", "MODULE:FUNCTION or FILE.py:FUNCTION"),
        ("nowhere.py:f", "a file for 'nowhere.py:f'"),
        ("no_such_module:f", "a Python module 'no_such_module'"),
    ],
)
def test_a_feature_that_is_not_there_is_told(feature: str, text: str) -> None:
    """With those that there are."""
    with pytest.raises(BadConfiguration, match=text) as caught:
        recipe_of(settings(feature=feature), COUNTS)
    assert "log-mel" in caught.value.hint


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"fmax": 9000.0}, "fmax: expected .* at most 8000"),
        ({"n_mels": 4, "n_mfcc": 5}, "n_mfcc: expected 1 to 4"),
        ({"feature": f"{EXAMPLES}:nothing"}, "a function 'nothing'"),
        ({"feature": f"{EXAMPLES}:chroma", "feature_arg": {"wrong": 1}}, "TypeError"),
    ],
)
def test_what_cannot_be_computed_is_told_at_once(options: dict[str, Any], text: str) -> None:
    """By `plan`, before anything is read."""
    with pytest.raises(InvalidOption, match=text):
        recipe_of(settings(**options), COUNTS)


@pytest.fixture
def function(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(LEVELS)
    return f"{file}:levels"


def test_a_function_is_the_feature(source: Path, root: Path, function: str) -> None:
    """Its values, name and arguments; the manifest has the digest of its text, and no path."""
    opened = features_of(source, root, feature=function, feature_arg={"parts": 8}, normalise="none")
    feature = opened.manifest.recipe.feature
    assert ("levels", (8, 1)) == (feature.name, feature.shape)
    parameters = dict(feature.parameters)
    assert ("own.py", 8) == (parameters["module"], parameters["argument.parts"])
    assert Function("own.py", LEVELS, "levels").sha256 == parameters["source_sha256"]
    assert "function" == opened.manifest.recipe.engine
    (entry, *_) = opened.files("features")
    (row, *_) = pq.read_table(Path(opened.folder.path, entry.path)).to_pylist()
    assert np.isfinite(np.frombuffer(row["levels"], "<f4")).all()
    verify(VerifySettings(manifest=str(opened.location)))


def test_a_function_travels_to_the_processes_that_decode(
    source: Path, root: Path, function: str
) -> None:
    """As text: there they have neither its file nor its module."""
    recordings = str(scan(source, root).text)
    asked = {"feature": function, "normalise": "none"}
    here = run(recordings, root=str(root / "here"), **asked)
    there = run(recordings, supervised, root=str(root / "there"), **asked)
    one, other = (read_manifest(str(made.text), "features") for made in (here, there))
    assert checksums(one) == checksums(other)


def against(opened: Opened, function: str | None) -> Any:
    asked = VerifySettings(manifest=str(opened.location), against="librosa", feature=function)
    return verify(asked).data["librosa"]


def test_a_function_is_not_taken_from_a_manifest(
    source: Path, root: Path, function: str, tmp_path: Path
) -> None:
    """It is given again, and has to be the one that made the features."""
    opened = features_of(source, root, feature=function, normalise="none")
    with pytest.raises(InvalidOption, match="no code is run because a manifest names it"):
        against(opened, None)
    other = tmp_path / "other.py"
    other.write_text(LEVELS.replace("4", "8"))
    with pytest.raises(InvalidOption, match="another function made these features"):
        against(opened, f"{other}:levels")
    assert 0.0 == against(opened, function)["deviation"]


@pytest.mark.parametrize("name", ["chroma", "contrast", "deltas"])
@pytest.mark.filterwarnings("ignore:Trying to estimate tuning")
def test_the_examples_work(source: Path, root: Path, name: str) -> None:
    """As they stand; a second run finds what the first has made."""
    opened = features_of(source, root, feature=f"{EXAMPLES}:{name}", n_fft=None)
    assert name == opened.manifest.recipe.feature.name
    assert opened.manifest.stats.extracted == opened.manifest.stats.recordings


def test_a_plan_names_the_feature(source: Path, root: Path) -> None:
    """With the shape of a window."""
    recordings = str(scan(source, root).text)
    found = plan(PlanSettings(recordings=recordings, preset="speech-8k", feature="log-mel"))
    assert "log_mel" in str(found.data["feature"])
