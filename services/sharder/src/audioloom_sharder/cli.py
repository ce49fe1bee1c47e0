"""The command line of the sharder: one function a command, nothing decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_sharder.settings import (
        GcSettings,
        InspectSettings,
        ListSettings,
        PlanSettings,
        RunSettings,
        VerifySettings,
    )

app = StageApp(
    "sharder",
    help="Write features as TFRecord shards for any number of replicas that divides --lanes.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_sharder.settings",
)


@command(app)
def plan(settings: PlanSettings) -> Result:
    """Show the splits, shards and steps that `run` would make; write nothing."""
    from audioloom_sharder.commands.plan import plan

    return plan(settings)


@command(app)
def run(settings: RunSettings) -> Result:
    """Write the shards and commit their manifest; print its location."""
    from audioloom_sharder.commands.run import run

    return run(settings)


@command(app)
def verify(settings: VerifySettings) -> Result:
    """Check everything that the manifest of SHARDS claims."""
    from audioloom_sharder.commands.verify import verify

    return verify(settings)


@command(app)
def inspect(settings: InspectSettings) -> Result:
    """Show what SHARDS holds and what it was made from."""
    from audioloom_sharder.commands.inspect import inspect

    return inspect(settings)


@command(app)
def list_(settings: ListSettings) -> Result:
    """List the shards runs under a root, unfinished ones too."""
    from audioloom_sharder.commands.list import list_runs

    return list_runs(settings)


@command(app)
def gc(settings: GcSettings) -> Result:
    """Find leftovers of failed attempts; delete them with --delete."""
    from audioloom_sharder.commands.gc import gc

    return gc(settings)


main = run_app(app)
