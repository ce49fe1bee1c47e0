"""The command line of the trainer: one function a command, nothing decided here.

The settings are imported when a command is called, for pydantic takes longer than the list of
commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_trainer.settings import (
        EvaluateSettings,
        ExportSettings,
        GcSettings,
        InspectSettings,
        ListSettings,
        PlanSettings,
        RunSettings,
        VerifySettings,
    )

app = StageApp(
    "trainer",
    help="Train a Keras model on shards, alone or as a worker of TF_CONFIG.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_trainer.settings",
)


@command(app)
def run(settings: RunSettings) -> Result:
    """Train a model and commit the run; print the location of its manifest."""
    from audioloom_trainer.runtime.resources import limit_arithmetic
    from audioloom_trainer.runtime.signals import handle_sigterm

    stop = handle_sigterm()  # before the last of these lines, which imports NumPy
    limit_arithmetic(settings.threads)
    from audioloom_trainer.commands.run import run

    return run(settings, stop)


@command(app)
def plan(settings: PlanSettings) -> Result:
    """Show what run would do, or with --capacity what it would take."""
    from audioloom_trainer.commands.plan import plan

    return plan(settings)


@command(app)
def evaluate(settings: EvaluateSettings) -> Result:
    """Score a committed run, or with --follow one that still trains, on splits."""
    from audioloom_trainer.runtime.resources import limit_arithmetic

    limit_arithmetic(settings.threads)  # before the next lines, which import NumPy
    if settings.follow:
        from audioloom_trainer.commands.follow import follow

        return follow(settings)
    from audioloom_trainer.commands.evaluate import evaluate

    return evaluate(settings)


@command(app)
def export(settings: ExportSettings) -> Result:
    """Export the model of a committed run as a .keras file or a SavedModel."""
    from audioloom_trainer.commands.export import export

    return export(settings)


@command(app)
def inspect(settings: InspectSettings) -> Result:
    """Show what a run is and its scores, or its progress."""
    from audioloom_trainer.commands.inspect import inspect

    return inspect(settings)


@command(app)
def verify(settings: VerifySettings) -> Result:
    """Check everything that the manifest of a run claims."""
    from audioloom_trainer.commands.verify import verify

    return verify(settings)


@command(app)
def list_(settings: ListSettings) -> Result:
    """List the training runs under a root, unfinished ones too."""
    from audioloom_trainer.commands.list import list_runs

    return list_runs(settings)


@command(app)
def gc(settings: GcSettings) -> Result:
    """Find leftovers and unneeded checkpoints; delete them with --delete."""
    from audioloom_trainer.commands.gc import gc

    return gc(settings)


main = run_app(app)
