"""The command line of the sharder: one function a command, nothing decided here."""

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app

app = StageApp(
    "sharder",
    help="Write features as TFRecord shards for any number of replicas that divides --lanes.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher", "client"),
    package="audioloom_sharder",
)


@command(app, "PlanSettings", "plan:plan")
def plan() -> None:
    """Show the splits, shards and steps that `run` would make; write nothing."""


@command(app, "RunSettings", "run:run")
def run() -> None:
    """Write the shards and commit their manifest; print its location."""


@command(app, "RunSettings", "run:explain")
def why() -> None:
    """Say why `run` would write shards again: what differs from the nearest finished run."""


@command(app, "VerifySettings", "verify:verify")
def verify() -> None:
    """Check everything that the manifest of SHARDS claims."""


@command(app, "InspectSettings", "inspect:inspect")
def inspect() -> None:
    """Show what SHARDS holds and what it was made from."""


@command(app, "ReportSettings", "inspect:report")
def report() -> None:
    """Write a page of HTML about the balance of SHARDS."""


@command(app, "ListSettings", "list:list_runs")
def list_() -> None:
    """List the shards runs under a root, unfinished ones too."""


@command(app, "GcSettings", "gc:gc")
def gc() -> None:
    """Find leftovers of failed attempts; delete them with --delete."""


@command(app, "DoctorSettings", "doctor:doctor")
def doctor() -> None:
    """Check all that `run` needs on this machine and its cluster."""


main = run_app(app)
