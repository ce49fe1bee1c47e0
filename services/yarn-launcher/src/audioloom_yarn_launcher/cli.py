"""The command line of the launcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_yarn_launcher.settings import (
        DoctorSettings,
        GcSettings,
        KillSettings,
        ListSettings,
        LogsSettings,
        PackSettings,
        RunOnlySettings,
        RunSettings,
        StatusSettings,
    )

app = StageApp(
    "yarn-launcher",
    help="Run a command as a gang of workers, on this machine or on YARN.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_yarn_launcher.settings",
    families={"env": "Build, list and remove archives of environments."},
)


@command(app)
def run(settings: RunSettings) -> Result:
    """Run a command in several workers, each with its TF_CONFIG, until it ends.

    Prints the location of the manifest that the command committed, otherwise of the run folder.
    """
    if settings.on == "yarn":
        from audioloom_yarn_launcher.commands.run_yarn import launch_on_yarn

        return launch_on_yarn(settings)
    from audioloom_yarn_launcher.commands.run_local import launch

    return launch(settings)


@command(app)
def status(settings: StatusSettings) -> Result:
    """Show the state of a run and of its workers."""
    from audioloom_yarn_launcher.commands.status import show_status

    return show_status(settings)


@command(app)
def attach(settings: RunOnlySettings) -> Result:
    """Wait for a detached or orphaned run, and answer as `run` does."""
    from audioloom_yarn_launcher.commands.attach import attach_run

    return attach_run(settings)


@command(app)
def explain(settings: RunOnlySettings) -> Result:
    """Explain why a run failed: the first cause, and what to do."""
    from audioloom_yarn_launcher.commands.explain import show_explanation

    return show_explanation(settings)


@command(app)
def kill(settings: KillSettings) -> Result:
    """Stop a run, wherever it runs."""
    from audioloom_yarn_launcher.commands.kill import kill_run

    return kill_run(settings)


@command(app)
def logs(settings: LogsSettings) -> Result:
    """Print the output of a run's workers."""
    from audioloom_yarn_launcher.commands.logs import show_logs

    return show_logs(settings)


@command(app)
def doctor(settings: DoctorSettings) -> Result:
    """Check everything that a run on a cluster needs; print one line each with the fix.

    Exit code 78 if a check fails.
    """
    from audioloom_yarn_launcher.commands.doctor import examine

    return examine(settings)


@command(app)
def list_(settings: ListSettings) -> Result:
    """List the runs under a root with their state, attempts and workers."""
    from audioloom_yarn_launcher.commands.list import list_runs

    return list_runs(settings)


@command(app, name="env pack")
def env_pack(settings: PackSettings) -> Result:
    """Build the archive of an environment with its Python; print its location.

    Nothing is built if an archive with the same contents is there.
    """
    from audioloom_yarn_launcher.commands.env_pack import pack_environment

    return pack_environment(settings)


@command(app, name="env list")
def env_list(settings: ListSettings) -> Result:
    """List the archives under a root and the runs that use them."""
    from audioloom_yarn_launcher.commands.environments import list_environments

    return list_environments(settings)


@command(app, name="env gc")
def env_gc(settings: GcSettings) -> Result:
    """Find archives that no run needs; delete them with --delete."""
    from audioloom_yarn_launcher.commands.environments import env_gc as perform

    return perform(settings)


main = run_app(app)
