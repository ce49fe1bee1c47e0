"""The feature of a run: from the options, into a recipe, and back from a recipe."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from audioloom_audio import ExtractionSettings, Feature, Function, LogMel, Mfcc, Waveform
from audioloom_manifest.parquet import WINDOW
from audioloom_stage.functions import find_function

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.settings import FEATURE_NAME, RecipeSettings

PRESETS: dict[str, dict[str, Any]] = {
    "speech-8k": {
        "sample_rate": 8000, "n_fft": 256, "hop_length": 80, "n_mels": 40, "n_mfcc": 20,
    },
    "speech-16k": {
        "sample_rate": 16000, "n_fft": 512, "hop_length": 160, "n_mels": 80, "n_mfcc": 40,
    },
    "music-44k": {
        "sample_rate": 44100, "n_fft": 2048, "hop_length": 512, "n_mels": 128, "n_mfcc": 20,
    },
}  # fmt: skip
"""Frames of 32 ms every 10 ms for speech, as speech recognition has them; of 46 ms for music."""

_KINDS: dict[str, type[Mfcc | LogMel | Waveform]] = {
    "mfcc": Mfcc, "log-mel": LogMel, "waveform": Waveform,
}  # fmt: skip
_MEL = ("n_fft", "hop_length", "n_mels", "n_mfcc", "fmin", "fmax", "top_db", "level")
_ARGUMENT = "argument."


def chosen_feature(settings: RecipeSettings) -> tuple[Feature, int]:
    """The feature that the options ask for, and the sample rate.

    Raises:
        InvalidOption: an option does not belong to the feature.
        BadConfiguration: there is no such function.
    """
    preset = PRESETS[settings.preset] if settings.preset else {}
    asked = {name: getattr(settings, name) for name in _MEL if getattr(settings, name) is not None}
    rate = settings.sample_rate or preset.get("sample_rate", ExtractionSettings.sample_rate)
    kind = _KINDS.get(settings.feature)
    known = {field.name for field in fields(kind)} if kind else set()
    if useless := sorted(asked.keys() - known):
        raise InvalidOption(
            where=", ".join(f"--{name.replace('_', '-')}" for name in useless),
            expected=f"options of --feature {settings.feature}",
            found="an option of another feature",
        )
    if kind is None:
        return _function(settings), rate
    if settings.feature_arg:
        raise InvalidOption(
            where="--feature-arg",
            expected="a function by --feature",
            found=f"--feature {settings.feature}",
        )
    given = {**preset, **asked}
    return kind(**{name: given[name] for name in known & given.keys()}), rate


def check_feature_name(name: str, where: str) -> None:
    """Raise `InvalidOption` unless files of features can have a column of this name for values."""
    if re.fullmatch(FEATURE_NAME, name) is None:
        raise InvalidOption(
            "files of features and shards cannot hold this name",
            where=where,
            expected="a lower-case letter, then at most 99 such letters, digits and underscores",
            found=repr(name),
        )
    if name in WINDOW.names:
        raise InvalidOption(
            "features files have a column of this name",
            where=where,
            expected="a name for the values alone",
            found="the name of another column",
        )


def parameters_of(feature: Feature) -> dict[str, Any]:
    """The parameters by which a recipe identifies the feature."""
    if isinstance(feature, Function):
        arguments = {f"{_ARGUMENT}{name}": value for name, value in feature.arguments}
        return {"module": feature.module, "source_sha256": feature.sha256, **arguments}
    names = (field.name for field in fields(feature) if field.name != "n_mfcc")  # type: ignore[arg-type]
    return {name: getattr(feature, name) for name in names}


def feature_from(
    name: str, parameters: Mapping[str, Any], shape: tuple[int, int], function: str | None
) -> Feature:
    """The feature that a recipe names, by those of `parameters_of`; others are ignored.

    The *function* is the reference of its function, which nobody takes from a manifest.

    Raises:
        InvalidOption: the function is not given, or is another.
    """
    if "source_sha256" in parameters:
        return _same_function(name, parameters, function)
    kind = {kind.name: kind for kind in _KINDS.values()}.get(name)
    if kind is None:
        raise InvalidOption(
            "the run was not made by a feature known here",
            expected=", ".join(_KINDS),
            found=name,
        )
    known = {field.name for field in fields(kind)}
    given: dict[str, Any] = {key: value for key, value in parameters.items() if key in known}
    if kind is Mfcc:
        given["n_mfcc"] = shape[0]
    return kind(**given)


def _function(settings: RecipeSettings) -> Function:
    found = find_function(
        settings.feature,
        "--feature",
        hint=f"Give {', '.join(_KINDS)}, package.module:function or path/to/file.py:function.",
    )
    check_feature_name(found.function, f"--feature {settings.feature}")
    module = found.label.rpartition(":")[0]
    arguments = tuple(sorted(settings.feature_arg.items()))
    return Function(module, found.data.decode(), found.function, arguments)


def _same_function(name: str, parameters: Mapping[str, Any], function: str | None) -> Function:
    made = f"{parameters['module']}:{name} with sha256 {parameters['source_sha256'][:12]}…"
    if function is None:
        raise InvalidOption(
            "a function made these features, and no code is run because a manifest names it",
            where="--feature",
            expected=f"the function {made}",
            found="no --feature",
        )
    found = find_function(function, "--feature")
    if (found.sha256, found.function) != (parameters["source_sha256"], name):
        raise InvalidOption(
            "another function made these features",
            where="--feature",
            expected=made,
            found=f"{found.label} with sha256 {found.sha256[:12]}…",
        )
    arguments = (
        (key.removeprefix(_ARGUMENT), value)
        for key, value in parameters.items()
        if key.startswith(_ARGUMENT)
    )
    return Function(parameters["module"], found.data.decode(), name, tuple(sorted(arguments)))
