"""What a user asks for, as the recipe of a run and the settings of its extraction."""

from __future__ import annotations

from audioloom_manifest import (
    Feature,
    FeaturesManifest,
    FeaturesRecipe,
    Opened,
    Plan,
    RecordingsManifest,
    run_folder,
    run_name,
)
from audioloom_mfcc import BadSettings, MfccSettings, settle
from audioloom_storage import Location

from audioloom_featurizer.errors import BadWish
from audioloom_featurizer.settings import PlanSettings
from audioloom_featurizer.units import default_recordings

ALGORITHM = 2
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
                windows=wish.windows,
                channels=wish.channels,
                dtype=wish.dtype,
                engine=wish.engine,
            )
        )
    except BadSettings as error:
        raise BadWish(str(error)) from error


def recipe_of(wish: PlanSettings, recordings: int) -> FeaturesRecipe:
    """The recipe of the run that *wish* makes of so many recordings."""
    settings = extraction_of(wish)
    feature = Feature(
        name="mfcc",
        dtype=settings.dtype,
        shape=settings.shape,
        sample_rate=settings.sample_rate,
        parameters={
            "n_fft": settings.n_fft,
            "hop_length": settings.hop_length,
            "n_mels": settings.n_mels,
            "top_db": settings.top_db,
            "window_seconds": settings.window_seconds,
            "normalise": settings.normalise,
        },
    )
    return FeaturesRecipe(
        algorithm=ALGORITHM,
        feature=feature,
        engine=settings.engine,
        windows=settings.windows,
        channels=settings.channels,
        unit_bytes=int(wish.unit_bytes),
        unit_recordings=wish.unit_recordings or default_recordings(recordings),
    )


def plan_of(wish: PlanSettings, opened: Opened[RecordingsManifest], root: Location) -> Plan:
    """The run that *wish* makes of a recordings manifest, under *root*."""
    recipe = recipe_of(wish, opened.manifest.stats.recordings)
    name = wish.name or run_name("features", recipe, [opened.manifest.identity])
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
