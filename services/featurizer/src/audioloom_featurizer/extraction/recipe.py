"""What a user asks for, as the recipe of a run and the settings of its extraction."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

from audioloom_audio import BadSettings, MfccSettings, RawFormat, settle
from audioloom_manifest import (
    Feature,
    FeaturesManifest,
    FeaturesRecipe,
    Headerless,
    Opened,
    Plan,
    RecordingsManifest,
    run_folder,
    run_name,
)
from audioloom_storage import Location

from audioloom_featurizer.errors import BadWish
from audioloom_featurizer.extraction.partition import default_recordings
from audioloom_featurizer.settings import PlanSettings

ALGORITHM = 4
"""Raised when the same recipe would give other bytes: old runs keep their names."""


def extraction_of(wish: PlanSettings) -> MfccSettings:
    """The settings of the extraction; the engine is settled here, for all machines of the run.

    Raises:
        BadWish: a value that the arithmetic does not support.
    """
    try:
        return settle(
            MfccSettings(
                window_seconds=wish.window_seconds,
                hop_seconds=wish.hop_seconds,
                windows=wish.windows,
                channels=wish.channels,
                level=wish.level,
                dtype=wish.dtype,
                engine=wish.engine,
                raw=_raw_format(wish),
            )
        )
    except BadSettings as error:
        raise BadWish(str(error)) from error


def _raw_format(wish: PlanSettings) -> RawFormat | None:
    if wish.raw_format is None:
        return None
    return RawFormat(wish.raw_format, wish.raw_rate, wish.raw_channels)


def recipe_of(wish: PlanSettings, recordings: int) -> FeaturesRecipe:
    """The recipe of the run that *wish* makes of so many recordings."""
    settings = extraction_of(wish)
    parameters: dict[str, Any] = {
        "n_fft": settings.n_fft,
        "hop_length": settings.hop_length,
        "n_mels": settings.n_mels,
        "top_db": settings.top_db,
        "level": settings.level,
        "window_seconds": settings.window_seconds,
        "hop_seconds": settings.hop_samples / settings.sample_rate,
        "normalise": settings.normalise,
    }
    return FeaturesRecipe(
        algorithm=ALGORITHM,
        feature=Feature(
            name="mfcc",
            dtype=settings.dtype,
            shape=settings.shape,
            sample_rate=settings.sample_rate,
            parameters=parameters,
        ),
        engine=settings.engine,
        windows=settings.windows,
        channels=settings.channels,
        headerless=None if settings.raw is None else Headerless(**asdict(settings.raw)),
        unit_bytes=int(wish.unit_bytes),
        unit_recordings=wish.unit_recordings or default_recordings(recordings),
    )


def settings_of(recipe: FeaturesRecipe) -> MfccSettings:
    """The settings that a committed run was extracted with.

    Raises:
        BadWish: the recipe is of another feature, or of a release that knows other settings.
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
        raise BadWish(
            "the run was not made by settings known here",
            expected="those of the feature mfcc",
            found=str(error),
        ) from error


def plan_of(wish: PlanSettings, opened: Opened[RecordingsManifest], root: Location) -> Plan:
    """The run that *wish* makes of a recordings manifest, under *root*."""
    recipe = recipe_of(wish, opened.manifest.stats.recordings)
    return plan_with(recipe, opened, root, wish.name)


def plan_with(
    recipe: FeaturesRecipe, opened: Opened[RecordingsManifest], root: Location, name: str | None
) -> Plan:
    """The run that a recipe makes of a recordings manifest; by default a digest is its name."""
    name = name or run_name("features", recipe, [opened.manifest.identity])
    folder = run_folder(root, "features", name)
    return Plan("features", name, folder, recipe, (opened.reference(root),))


def facts(manifest: FeaturesManifest) -> dict[str, int | float]:
    """The counts of a features manifest, for a result."""
    stats = manifest.stats
    return {
        "recordings": stats.recordings,
        "extracted": stats.extracted,
        "refused": stats.refused,
        "flagged": stats.flagged,
        "windows": stats.windows,
        "audio_seconds": stats.audio_seconds,
    }
