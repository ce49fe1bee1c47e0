"""One attempt at a run for the manifest's `execution`: user, machine, versions, settings."""

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from audioloom_manifest.envelope import Execution, Producer
from audioloom_manifest.publication import Attempt
from audioloom_stage.redaction import redact_values


def new_attempt(
    stage: str,
    settings: Mapping[str, Any],
    *,
    libraries: Iterable[str] = (),
    versions: Mapping[str, str] | None = None,
) -> Attempt:
    """Make an attempt that begins now, on this machine.

    The settings, whose secrets are masked, change no result. The versions of *libraries* are
    recorded as far as they are installed; *versions* are those of other software.
    """
    return Attempt(
        Producer(stage=stage, version=version(f"audioloom-{stage}")),
        host=platform.node(),
        versions={
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: found for name in libraries if (found := _version(name))},
            **(versions or {}),
        },
        settings=redact_values(settings),
    )


def seconds_of(execution: Execution) -> float:
    """Return the wall time of a run: of all attempts where it was measured, else of the last."""
    measured = sum(execution.seconds.values())
    return measured or (execution.finished - execution.started).total_seconds()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None  # an extra that is not installed
