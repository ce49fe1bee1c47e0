"""Who makes a run: the record of one try, for the manifest's `execution`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from audioloom_manifest import Attempt, Producer
from audioloom_stage import redact_values

STAGE = "featurizer"

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


def new_attempt(settings: dict[str, Any]) -> Attempt:
    """A try that begins now, on this machine, with these settings that change no result."""
    return Attempt(
        Producer(stage=STAGE, version=version("audioloom-featurizer")),
        host=platform.node(),
        versions={
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: found for name in _LIBRARIES if (found := _version(name))},
        },
        settings=redact_values(settings),
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None  # librosa is an extra
