"""Convert the options of a run to its recipe, and a recipe to the settings of the extraction."""

from dataclasses import asdict
from typing import Any, cast

from audioloom_audio import BadSettings, MfccSettings, RawFormat, resolve_engine
from audioloom_manifest.identity import run_name
from audioloom_manifest.kinds import Feature, FeaturesRecipe, Headerless, RecordingsManifest
from audioloom_manifest.layout import run_folder
from audioloom_manifest.publication import Plan
from audioloom_manifest.reader import Opened
from audioloom_storage import Location

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.extraction.partition import default_recordings
from audioloom_featurizer.settings import PlanSettings

ALGORITHM = 4
"""Raised when an equal recipe would give other bytes, so that old runs keep their names."""


_MFCC = {"window_seconds", "hop_seconds", "windows", "channels", "level", "dtype", "engine"}


def recipe_of(settings: PlanSettings, recordings: int) -> FeaturesRecipe:
    """The recipe of a run over that many recordings.

    The engine `auto` is resolved here, so that all machines of the run use the same engine.

    Raises:
        InvalidOption: the arithmetic does not support a value.
    """
    raw = None
    if settings.raw_format is not None:
        raw = RawFormat(settings.raw_format, settings.raw_rate, settings.raw_channels)
    try:
        mfcc = resolve_engine(MfccSettings(**settings.model_dump(include=_MFCC), raw=raw))
    except BadSettings as error:
        raise InvalidOption(str(error)) from error
    names = ("n_fft", "hop_length", "n_mels", "top_db", "level", "window_seconds", "normalise")
    parameters: dict[str, Any] = {name: getattr(mfcc, name) for name in names}
    return FeaturesRecipe(
        algorithm=ALGORITHM,
        feature=Feature(
            name="mfcc",
            dtype=mfcc.dtype,
            shape=mfcc.shape,
            sample_rate=mfcc.sample_rate,
            parameters={**parameters, "hop_seconds": mfcc.hop_samples / mfcc.sample_rate},
        ),
        engine=mfcc.engine,
        windows=mfcc.windows,
        channels=mfcc.channels,
        headerless=None if raw is None else Headerless(**asdict(raw)),
        unit_bytes=int(settings.unit_bytes),
        unit_recordings=settings.unit_recordings or default_recordings(recordings),
    )


def settings_from_recipe(recipe: FeaturesRecipe) -> MfccSettings:
    """The settings that a committed run was extracted with.

    Raises:
        InvalidOption: the recipe is for another feature, or a release with other settings wrote it.
    """
    feature, raw = recipe.feature, recipe.headerless
    given: dict[str, Any] = {
        **feature.parameters,
        "sample_rate": feature.sample_rate,
        "n_mfcc": feature.shape[0],
        "dtype": feature.dtype,
        "windows": recipe.windows,
        "channels": recipe.channels,
        "engine": recipe.engine,
    }
    try:
        return MfccSettings(
            **given, raw=None if raw is None else RawFormat(**cast("Any", raw.model_dump()))
        )
    except (BadSettings, TypeError) as error:
        raise InvalidOption(
            "the run was not made by settings known here",
            expected="those of the feature mfcc",
            found=str(error),
        ) from error


def plan_recipe(
    recipe: FeaturesRecipe, opened: Opened[RecordingsManifest], root: Location, name: str | None
) -> Plan:
    """Plan the run of a recordings manifest with a recipe; its default name is a digest."""
    name = name or run_name("features", recipe, [opened.manifest.identity])
    folder = run_folder(root, "features", name)
    return Plan("features", name, folder, recipe, (opened.reference(root),))
