"""The record of one attempt, for the manifest's `execution`."""

from collections.abc import Mapping
from typing import Any

from audioloom_manifest import Attempt
from audioloom_runs import attempts

_LIBRARIES = (
    "audioloom-audio",
    "librosa",
    "numpy",
    "pyarrow",
    "pyspark",
    "scipy",
    "soundfile",
    "soxr",
)


def new_attempt(settings: Mapping[str, Any]) -> Attempt:
    """Create the record of an attempt that starts here and now; *settings* change no result."""
    return attempts.new_attempt("featurizer", settings, libraries=_LIBRARIES)
