"""The command line; what a command does is imported when it is called."""

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app

app = StageApp(
    "featurizer",
    help="Extract features of recordings, as Parquet files.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher", "client"),
    package="audioloom_featurizer",
)


@command(app, "ScanSettings", "scan:scan")
def scan() -> None:
    """List the recordings below SOURCE in a recordings manifest; print its location."""


@command(app, "PlanSettings", "plan:plan")
def plan() -> None:
    """Show what `run` would do with RECORDINGS; write nothing."""


@command(app, "RunSettings", "run:run")
def run() -> None:
    """Extract the features of RECORDINGS; print the location of the features manifest.

    Every recording ends in the features or, with the reason, in the ledger. A run that was stopped
    continues where it stopped. A committed run returns at once.
    """


@command(app, "RunSettings", "why:explain")
def why() -> None:
    """Say why `run` would extract features again: what differs from the nearest finished run."""


@command(app, "RetrySettings", "retry:retry")
def retry() -> None:
    """Retry recordings that FEATURES refused because storage or a decoder's limits failed them.

    Prints the location of the new features manifest. The new features are a run of their own with
    the same recipe: give both runs to the sharder.
    """


@command(app, "ImportSettings", "import_table:import_table")
def import_() -> None:
    """Make a features manifest of TABLE, windows that another program computed.

    Prints the location of the manifest. The table has the columns `values` and `path` (the
    recording), and any of `label`, `target`, `group`, `window`, `channel` and `length`.
    """


@command(app, "VerifySettings", "verify:verify")
def verify() -> None:
    """Check everything that MANIFEST claims: checksums, counts, columns, values."""


@command(app, "InspectSettings", "inspect:inspect")
def inspect() -> None:
    """Show what MANIFEST says; with --ledger, why recordings were refused."""


@command(app, "ReportSettings", "report:report")
def report() -> None:
    """Write a page of HTML about FEATURES: labels, groups, lengths, refusals, pictures."""


@command(app, "ListSettings", "list:list_runs")
def list_() -> None:
    """List the recordings and features runs under a root."""


@command(app, "TraceSettings", "trace:trace")
def trace() -> None:
    """Find every run that holds certain recordings, or was made from them by any stage.

    The runs come first: recordings manifests, features, shards and training runs. The recordings
    follow. A run that is not committed is not searched.
    """


@command(app, "GcSettings", "gc:gc")
def gc() -> None:
    """Find leftovers of failed attempts; delete them with --delete."""


@command(app, "DoctorSettings", "doctor:doctor")
def doctor() -> None:
    """Check all that `run` needs on this machine and its cluster."""


main = run_app(app)
