"""The command line of audioloom as a whole: what concerns no single stage."""

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app

app = StageApp(
    "client",
    program="audioloom",
    help="Look at the runs of all stages.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher", "client"),
    package="audioloom",
)


@command(app, "SiteSettings", "site:make_site")
def site() -> None:
    """Write a static web site about all runs under ROOT; print its first page."""


@command(app, "DiffSettings", "diff:diff")
def diff() -> None:
    """Show what differs between two finished runs of one stage."""


main = run_app(app)
