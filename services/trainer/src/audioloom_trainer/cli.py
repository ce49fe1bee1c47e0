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
    from audioloom_trainer.settings import EvaluateSettings, RunSettings

app = StageApp(
    "trainer",
    help="Train a Keras model on shards, alone or as a worker of TF_CONFIG.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher", "client"),
    package="audioloom_trainer",
)


@command(app, "RunSettings")
def run(settings: RunSettings) -> Result:
    """Train a model and commit the run; print the location of its manifest."""
    from audioloom_trainer.runtime.resources import limit_arithmetic
    from audioloom_trainer.runtime.signals import handle_sigterm

    stop = handle_sigterm()  # before the last of these lines, which imports NumPy
    limit_arithmetic(settings.threads)
    from audioloom_trainer.commands.run import run

    return run(settings, stop)


@command(app, "PlanSettings", "plan:plan")
def plan() -> None:
    """Show what run would do, or with --capacity what it would take."""


@command(app, "RunSettings", "why:explain")
def why() -> None:
    """Say why `run` would train again: what differs from the nearest finished run."""


@command(app, "EvaluateSettings")
def evaluate(settings: EvaluateSettings) -> Result:
    """Score a committed run, or with --follow one that still trains, on splits."""
    from audioloom_trainer.runtime.resources import limit_arithmetic

    limit_arithmetic(settings.threads)  # before the next lines, which import NumPy
    from audioloom_trainer.commands.evaluate import evaluate

    return evaluate(settings)


@command(app, "ExportSettings", "export:export")
def export() -> None:
    """Export the model of a committed run as a .keras file or a SavedModel."""


@command(app, "InspectSettings", "inspect:inspect")
def inspect() -> None:
    """Show what a run is and its scores, or its progress."""


@command(app, "VerifySettings", "verify:verify")
def verify() -> None:
    """Check everything that the manifest of a run claims."""


@command(app, "ListSettings", "list:list_runs")
def list_() -> None:
    """List the training runs under a root, unfinished ones too."""


@command(app, "GcSettings", "gc:gc")
def gc() -> None:
    """Find leftovers and unneeded checkpoints; delete them with --delete."""


@command(app, "DoctorSettings", "doctor:doctor")
def doctor() -> None:
    """Check all that `run` needs on this machine."""


main = run_app(app)
