"""The settings of each command."""

from __future__ import annotations

from typing import Annotated, Literal

from audioloom_stage import Flag, Positional, Settings
from pydantic import Field

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
Run = Annotated[
    str,
    Positional("RUN"),
    Field(description="The run: its folder, or the manifest in it."),
]


class RunSettings(Settings):
    """What `run` is asked to do."""

    command: Annotated[tuple[str, ...], Positional("COMMAND")] = Field(
        min_length=1, description="The program that every worker runs, and its arguments, after --."
    )
    root: str = Field(description="Where runs lie: the run folder is <root>/runs/<name>.")
    on: Literal["local"] = Field("local", description="Where the workers run.")
    workers: int = Field(1, ge=1, le=10_000, description="How many workers.")
    name: Name | None = Field(
        None, description="Name of the run; otherwise a digest of the command."
    )
    timeout_registration: float = Field(
        60.0, gt=0, description="Seconds within which all workers must have come."
    )
    max_restarts: int = Field(
        1, ge=0, description="How often the gang is started anew after a failure."
    )
    advertise: str = Field(
        "127.0.0.1", description="Host name or address under which the workers reach each other."
    )
    wait: bool = Field(
        default=True,
        description="If another launcher is at work on this run, wait for it; otherwise refuse.",
    )
    take_over: int | None = Field(
        None,
        ge=1,
        description="Number of an attempt whose launcher is gone, where that cannot be seen from"
        " here: another machine, another container.",
    )


class StatusSettings(Settings):
    """What `status` is asked to show."""

    run: Run


class LogsSettings(Settings):
    """What `logs` is asked to show."""

    run: Run
    rank: int | None = Field(None, ge=0, description="Only this worker's; otherwise all.")
    attempt: int | None = Field(None, ge=1, description="Of this attempt; otherwise the last.")
    follow: Annotated[bool, Flag("-f")] = Field(
        default=False, description="Go on with what is written, until the run is over."
    )
