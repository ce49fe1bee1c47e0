"""`why`: say why `run` would write shards again; read manifests alone."""

from audioloom_runs.attempts import new_attempt
from audioloom_runs.why import Options, why
from audioloom_stage.result import Result

from audioloom_sharder.commands.run import LIBRARIES
from audioloom_sharder.recipe import request_run
from audioloom_sharder.settings import RunSettings

_NAMES = {
    "algorithm": "the revision of the algorithm",
    "class_weights": "--class-weights",
    "split_table_sha256": "the table of --split-table",
    "splits": "--split",
}


def explain(settings: RunSettings) -> Result:
    """Compare the shards run that the settings ask for with the nearest finished one."""
    settings.check_configured()
    attempt = new_attempt("sharder", {}, libraries=LIBRARIES)
    return why(request_run(settings).plan, attempt, Options(settings, _NAMES))
