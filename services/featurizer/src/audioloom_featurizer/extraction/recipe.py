"""Convert the options of a run to its recipe, and a recipe to the settings of the extraction."""

from dataclasses import asdict
from typing import Any, cast, get_args

from audioloom_audio import BadSettings, Engine, ExtractionSettings, RawFormat, resolve_engine
from audioloom_manifest.kinds import Feature, FeaturesRecipe, Headerless, RecordingsStats

from audioloom_featurizer.errors import InvalidOption
from audioloom_featurizer.extraction.feature import chosen_feature, feature_from, parameters_of
from audioloom_featurizer.extraction.partition import default_bounds
from audioloom_featurizer.extraction.recording import translated_errors
from audioloom_featurizer.settings import RecipeSettings

ALGORITHM = 4
"""Raised when an equal recipe would give other bytes, so that old runs keep their names."""

_OWN = {"window_seconds", "hop_seconds", "windows", "channels", "normalise", "dtype", "engine"}


def recipe_of(settings: RecipeSettings, stats: RecordingsStats) -> FeaturesRecipe:
    """The recipe of a run over recordings with these counts.

    The engine `auto` is resolved here, so that all machines of the run use the same engine.

    Raises:
        InvalidOption: the arithmetic does not support a value.
        MissingLibrary: the engine does not work here.
    """
    raw = None
    if settings.raw_format is not None:
        raw = RawFormat(settings.raw_format, settings.raw_rate, settings.raw_channels)
    feature, rate = chosen_feature(settings)
    own = settings.model_dump(include=_OWN)
    with translated_errors():
        made = ExtractionSettings(feature=feature, sample_rate=rate, raw=raw, **own)
        engine = resolve_engine(made)
    parameters: dict[str, Any] = {
        **parameters_of(feature),
        "window_seconds": made.window_seconds,
        "hop_seconds": made.hop_samples / made.sample_rate,
        "normalise": made.normalise,
    }
    bounds = default_bounds(made, stats.recordings, stats.bytes)
    return FeaturesRecipe(
        algorithm=ALGORITHM,
        feature=Feature(
            name=feature.name,
            dtype=made.dtype,
            shape=made.shape,
            sample_rate=made.sample_rate,
            parameters=parameters,
        ),
        engine=engine,
        windows=made.windows,
        channels=made.channels,
        headerless=None if raw is None else Headerless(**asdict(raw)),
        unit_bytes=int(settings.unit_bytes or bounds.bytes),
        unit_recordings=settings.unit_recordings or bounds.recordings,
        digest=settings.digest,
    )


def settings_from_recipe(recipe: FeaturesRecipe, function: str | None = None) -> ExtractionSettings:
    """The settings that a committed run was extracted with; see `feature_from` for *function*.

    Raises:
        InvalidOption: the recipe is for another feature, or a release with other settings wrote it.
    """
    feature, raw = recipe.feature, recipe.headerless
    own = ("window_seconds", "hop_seconds", "normalise")
    engine = recipe.engine if recipe.engine in get_args(Engine) else "auto"
    try:
        return ExtractionSettings(
            feature=feature_from(feature.name, feature.parameters, feature.shape, function),
            sample_rate=feature.sample_rate,
            windows=recipe.windows,
            channels=recipe.channels,
            dtype=feature.dtype,
            engine=cast("Engine", engine),
            raw=None if raw is None else RawFormat(**cast("Any", raw.model_dump())),
            **{name: feature.parameters[name] for name in own},  # type: ignore[arg-type]
        )
    except (BadSettings, TypeError, KeyError) as error:
        raise InvalidOption(
            "the run was not made by settings known here",
            expected=f"those of the feature {feature.name}",
            found=str(error),
        ) from error
