"""The command line of the launcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_yarn_launcher.settings import RunSettings

app = StageApp(
    "yarn-launcher",
    help="Run a command as a gang of workers, on this machine or on YARN.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher", "client"),
    package="audioloom_yarn_launcher",
    families={"env": "Build, list and remove archives of environments."},
)


@command(app, "RunSettings")
def run(settings: RunSettings) -> Result:
    """Run a command in several workers, each with its TF_CONFIG, until it ends.

    Prints the location of the manifest that the command committed, otherwise of the run folder.
    """
    if settings.on == "yarn":
        from audioloom_yarn_launcher.commands.run_yarn import launch_on_yarn

        return launch_on_yarn(settings)
    from audioloom_yarn_launcher.commands.run_local import launch

    return launch(settings)


@command(app, "RunSettings", "plan:plan")
def plan() -> None:
    """Show the run that `run` would start and what it would take; start nothing."""


@command(app, "StatusSettings", "status:show_status")
def status() -> None:
    """Show the state of a run and of its workers."""


@command(app, "RunOnlySettings", "attach:attach_run")
def attach() -> None:
    """Wait for a detached or orphaned run, and answer as `run` does."""


@command(app, "RunOnlySettings", "explain:show_explanation")
def explain() -> None:
    """Explain why a run failed: the first cause, and what to do."""


@command(app, "KillSettings", "kill:kill_run")
def kill() -> None:
    """Stop a run, wherever it runs."""


@command(app, "LogsSettings", "logs:show_logs")
def logs() -> None:
    """Print the output of a run's workers."""


@command(app, "DoctorSettings", "doctor:examine")
def doctor() -> None:
    """Check everything that a run on a cluster needs; print one line each with the fix.

    Exit code 78 if a check fails.
    """


@command(app, "ListSettings", "list:list_runs")
def list_() -> None:
    """List the runs under a root with their state, attempts and workers."""


@command(app, "PackSettings", "env_pack:pack_environment", name="env pack")
def env_pack() -> None:
    """Build the archive of an environment with its Python; print its location.

    Nothing is built if an archive with the same contents is there.
    """


@command(app, "ListSettings", "environments:list_environments", name="env list")
def env_list() -> None:
    """List the archives under a root and the runs that use them."""


@command(app, "GcSettings", "environments:env_gc", name="env gc")
def env_gc() -> None:
    """Find archives that no run needs; delete them with --delete."""


main = run_app(app)
