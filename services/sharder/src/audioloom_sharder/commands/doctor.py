"""`doctor`: check all that `run` needs on this machine, before features are read."""

from audioloom_runs.checks import examine
from audioloom_spark.checks import spark_checks
from audioloom_stage.result import Result

from audioloom_sharder.settings import DoctorSettings


def doctor(settings: DoctorSettings) -> Result:
    """Make the checks; report each in one line."""
    return examine(settings.root, {} if settings.master == "inline" else spark_checks(settings))
