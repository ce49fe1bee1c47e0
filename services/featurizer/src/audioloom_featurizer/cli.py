"""The command line; what a command does is imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audioloom_stage.app import command, stage_app
from audioloom_stage.program import run_app
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from audioloom_featurizer.settings import (
        GcSettings,
        InspectSettings,
        ListSettings,
        PlanSettings,
        RetrySettings,
        RunSettings,
        ScanSettings,
        TraceSettings,
        VerifySettings,
    )

app = stage_app(
    "featurizer",
    help="Recordings to windows of MFCC features, as Parquet.",
    stages=("featurizer", "sharder", "trainer", "yarn-launcher"),
    settings="audioloom_featurizer.settings",
)


@command(app)
def scan(settings: ScanSettings) -> Result:
    """List the recordings below SOURCE into a recordings manifest; print where it lies."""
    from audioloom_featurizer.commands.scan import scan as perform

    return perform(settings)


@command(app)
def plan(settings: PlanSettings) -> Result:
    """Say what `run` would do with RECORDINGS; write nothing."""
    from audioloom_featurizer.commands.plan import plan as perform

    return perform(settings)


@command(app)
def run(settings: RunSettings) -> Result:
    """Extract the features of RECORDINGS; print where the features manifest lies.

    Every recording ends in the features or, with the reason, in the ledger. A run that was
    stopped goes on where it stopped; one that is committed answers at once.
    """
    from audioloom_featurizer.commands.run import run as perform

    return perform(settings)


@command(app)
def retry(settings: RetrySettings) -> Result:
    """Try again what FEATURES refused for want of a service; print where the new features lie.

    They are a run of their own, made by the same recipe: give both to the sharder.
    """
    from audioloom_featurizer.commands.retry import retry as perform

    return perform(settings)


@command(app)
def verify(settings: VerifySettings) -> Result:
    """Read again all that MANIFEST claims: checksums, counts, columns, values."""
    from audioloom_featurizer.commands.verify import verify as perform

    return perform(settings)


@command(app)
def inspect(settings: InspectSettings) -> Result:
    """Show what MANIFEST says, and with --ledger why recordings were refused."""
    from audioloom_featurizer.commands.inspect import inspect as perform

    return perform(settings)


@command(app)
def list_(settings: ListSettings) -> Result:
    """List the recordings and features runs under a root."""
    from audioloom_featurizer.commands.list import list_runs

    return list_runs(settings)


@command(app)
def trace(settings: TraceSettings) -> Result:
    """Find every run that holds these recordings, or was made from them by any stage.

    First the runs: features, shards and training runs, and recordings manifests; then the
    recordings themselves. Of a run that is not committed nobody can tell.
    """
    from audioloom_featurizer.commands.trace import trace as perform

    return perform(settings)


@command(app)
def gc(settings: GcSettings) -> Result:
    """Find what tries that died left behind, and delete it with --delete."""
    from audioloom_featurizer.commands.gc import collect

    return collect(settings)


main = run_app(app)
