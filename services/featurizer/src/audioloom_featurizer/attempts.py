"""The runs of this stage: the record of an attempt, and the answer of a command that commits."""

from collections.abc import Mapping
from functools import partial
from shlex import quote
from typing import Any

import structlog
from audioloom_manifest.publication import Plan, find_committed
from audioloom_manifest.reader import Opened
from audioloom_runs import attempts
from audioloom_stage.logs import bind
from audioloom_stage.result import JSON, Result

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

log = structlog.get_logger()

new_attempt = partial(attempts.new_attempt, "featurizer", libraries=_LIBRARIES)
"""Make the record of an attempt that starts here and now, with settings that change no result."""


def find_run(plan: Plan) -> Opened[Any] | None:
    """Find the committed run of a plan, and log its place."""
    bind(run=plan.name)
    standing = find_committed(plan)
    if standing is not None:
        log.info("already committed", manifest=str(standing.location))
    return standing


def committed_result(
    opened: Opened[Any], facts: Mapping[str, JSON], *useful: str, already: bool
) -> Result:
    """The answer with a manifest and its facts; the *useful* commands take its folder."""
    where, manifest = str(opened.location), opened.manifest
    data: dict[str, JSON] = {
        "location": where,
        "name": manifest.name,
        "identity": manifest.identity,
        "already_committed": already,
        **facts,
    }
    commands = tuple(f"audioloom-{each} {quote(str(opened.folder))}" for each in useful)
    return Result(where, data, next=commands)
