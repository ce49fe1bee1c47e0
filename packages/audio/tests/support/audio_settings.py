"""Settings of a feature and of the extraction, given together as keywords."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from audioloom_audio import ExtractionSettings, LogMel, Mfcc


def settings_of(kind: type[Mfcc | LogMel] = Mfcc, **options: Any) -> ExtractionSettings:
    """The settings of an extraction of a mel feature; each option goes where it belongs."""
    names = {field.name for field in fields(kind)}
    own = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    return ExtractionSettings(feature=kind(**own), **rest)
