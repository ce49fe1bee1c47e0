"""`doctor`: check all that `run` needs on this machine, before recordings are read."""

from importlib.metadata import version

from audioloom_runs.checks import examine
from audioloom_spark.checks import spark_checks
from audioloom_stage.checks import CheckResult, ok, warning
from audioloom_stage.result import Result

from audioloom_featurizer.settings import DoctorSettings


def doctor(settings: DoctorSettings) -> Result:
    """Make the checks; report each in one line."""
    checks = {**spark_checks(settings), "librosa": _librosa, "kernels": _kernels}
    return examine(settings.root, checks)


def _librosa() -> CheckResult:
    import librosa  # noqa: F401, PLC0415 - 1.3 s

    return ok("librosa", version("librosa"))


def _kernels() -> CheckResult:
    hint = "Install the featurizer again, or run more slowly with --engine numpy."
    try:
        from audioloom_audio_native import best_level  # noqa: PLC0415 - an optional distribution
    except ImportError:
        return warning("kernels", "audioloom-audio-native is not installed", hint)
    if not best_level():
        return warning("kernels", "this processor has no AVX2 and FMA: NumPy computes instead", "")
    return ok("kernels", f"compiled, for x86-64-v{best_level()}")
