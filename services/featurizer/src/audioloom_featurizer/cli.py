"""The command line; what a command does is imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import StageApp, command
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_featurizer.settings import (
        GcSettings,
        ImportSettings,
        InspectSettings,
        ListSettings,
        PlanSettings,
        RetrySettings,
        RunSettings,
        ScanSettings,
        TraceSettings,
        VerifySettings,
    )

app = StageApp(
    "featurizer",
    help="Extract features of recordings, as Parquet files.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_featurizer.settings",
)


@command(app)
def scan(settings: ScanSettings) -> Result:
    """List the recordings below SOURCE in a recordings manifest; print its location."""
    from audioloom_featurizer.commands.scan import scan as perform

    return perform(settings)


@command(app)
def plan(settings: PlanSettings) -> Result:
    """Show what `run` would do with RECORDINGS; write nothing."""
    from audioloom_featurizer.commands.plan import plan as perform

    return perform(settings)


@command(app)
def run(settings: RunSettings) -> Result:
    """Extract the features of RECORDINGS; print the location of the features manifest.

    Every recording ends in the features or, with the reason, in the ledger. A run that was stopped
    continues where it stopped. A committed run returns at once.
    """
    from audioloom_featurizer.commands.run import run as perform

    return perform(settings)


@command(app)
def retry(settings: RetrySettings) -> Result:
    """Retry recordings that FEATURES refused because storage was unavailable.

    Prints the location of the new features manifest. The new features are a run of their own with
    the same recipe: give both runs to the sharder.
    """
    from audioloom_featurizer.commands.retry import retry as perform

    return perform(settings)


@command(app)
def import_(settings: ImportSettings) -> Result:
    """Make a features manifest of TABLE, windows that another program computed.

    Prints the location of the manifest. The table has the columns `values` and `path` (the
    recording), and any of `label`, `target`, `group`, `window`, `channel` and `length`.
    """
    from audioloom_featurizer.commands.import_table import import_table

    return import_table(settings)


@command(app)
def verify(settings: VerifySettings) -> Result:
    """Check everything that MANIFEST claims: checksums, counts, columns, values."""
    from audioloom_featurizer.commands.verify import verify as perform

    return perform(settings)


@command(app)
def inspect(settings: InspectSettings) -> Result:
    """Show what MANIFEST says; with --ledger, why recordings were refused."""
    from audioloom_featurizer.commands.inspect import inspect as perform

    return perform(settings)


@command(app)
def list_(settings: ListSettings) -> Result:
    """List the recordings and features runs under a root."""
    from audioloom_featurizer.commands.list import list_runs

    return list_runs(settings)


@command(app)
def trace(settings: TraceSettings) -> Result:
    """Find every run that holds certain recordings, or was made from them by any stage.

    The runs come first: recordings manifests, features, shards and training runs. The recordings
    follow. A run that is not committed is not searched.
    """
    from audioloom_featurizer.commands.trace import trace as perform

    return perform(settings)


@command(app)
def gc(settings: GcSettings) -> Result:
    """Find leftovers of failed attempts; delete them with --delete."""
    from audioloom_featurizer.commands.gc import gc as perform

    return perform(settings)


main = run_app(app)
