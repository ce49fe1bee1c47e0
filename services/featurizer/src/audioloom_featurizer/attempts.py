"""The record of one attempt, for the manifest's `execution`."""

from functools import partial

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

new_attempt = partial(attempts.new_attempt, "featurizer", libraries=_LIBRARIES)
"""Make the record of an attempt that starts here and now, with settings that change no result."""
