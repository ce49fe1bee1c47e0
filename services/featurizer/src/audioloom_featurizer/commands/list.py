"""`list`: list the recordings and features runs under a root, in any state."""

from audioloom_runs import run_list
from audioloom_runs.settings import ListSettings
from audioloom_stage.result import Result

from audioloom_featurizer.commands.gc import KINDS


def list_runs(settings: ListSettings) -> Result:
    """List recordings and features runs, recordings first."""
    return run_list.list_runs(
        settings,
        KINDS,
        columns=("recordings",),
        committed=lambda opened: {"recordings": opened.manifest.stats.recordings},
    )
