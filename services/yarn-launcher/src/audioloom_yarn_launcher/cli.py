"""The command line of the launcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage import Result, command, run_app, stage_app

if TYPE_CHECKING:
    from audioloom_yarn_launcher.settings import (
        AttachSettings,
        DoctorSettings,
        EnvSettings,
        ExplainSettings,
        KillSettings,
        LogsSettings,
        RunSettings,
        StatusSettings,
    )

app = stage_app(
    "yarn-launcher",
    help="Run any command as a gang of workers that find each other.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_yarn_launcher.settings",
)


@command(app)
def run(settings: RunSettings) -> Result:
    """Run a command by several workers at once, each with its TF_CONFIG, until it is done.

    Prints the location of the manifest that the command committed, else of the run folder.
    """
    if settings.on == "yarn":
        from audioloom_yarn_launcher.commands.run_yarn import launch_on_yarn

        return launch_on_yarn(settings)
    from audioloom_yarn_launcher.commands.run_local import launch

    return launch(settings)


@command(app)
def status(settings: StatusSettings) -> Result:
    """Show how a run is: its workers, their attempts, how they ended and how far they are."""
    from audioloom_yarn_launcher.commands.status import show_status

    return show_status(settings)


@command(app)
def attach(settings: AttachSettings) -> Result:
    """Wait for a run that was left, or whose launcher died here, and answer as run does."""
    from audioloom_yarn_launcher.commands.attach import attach_run

    return attach_run(settings)


@command(app)
def explain(settings: ExplainSettings) -> Result:
    """Say why a run ended as it did: the first cause of all its attempts, and what to do."""
    from audioloom_yarn_launcher.commands.explain import show_explanation

    return show_explanation(settings)


@command(app)
def kill(settings: KillSettings) -> Result:
    """End a run, wherever it runs: its processes are told, and then ended."""
    from audioloom_yarn_launcher.commands.kill import kill_run

    return kill_run(settings)


@command(app)
def logs(settings: LogsSettings) -> Result:
    """Print what the workers of a run have written."""
    from audioloom_yarn_launcher.commands.logs import show_logs

    return show_logs(settings)


@command(app)
def doctor(settings: DoctorSettings) -> Result:
    """Look at all that a run on a cluster needs; one line each: ok, warning, or failure and mend.

    Exit code 78 if one of them is a failure.
    """
    from audioloom_yarn_launcher.commands.doctor import examine

    return examine(settings)


@command(app)
def env(settings: EnvSettings) -> Result:
    """Build environments of commands for run --environment, list them, or remove what no run needs.

    `env pack` makes one archive, with its Python, and prints where it is. Nothing is built when one
    of the same ingredients is there.
    `env list` shows what lies under the root, `env gc` what no run needs any more.
    """
    if settings.action == "list":
        from audioloom_yarn_launcher.commands.env_list import list_environments

        return list_environments(settings)
    if settings.action == "gc":
        from audioloom_yarn_launcher.commands.env_gc import collect_garbage

        return collect_garbage(settings)
    from audioloom_yarn_launcher.commands.env_pack import pack_environment

    return pack_environment(settings)


main = run_app(app)
