"""`doctor`: check all that `run` needs on this machine, before a training begins."""

from functools import partial

from audioloom_runs.checks import check_room, examine
from audioloom_stage.checks import Ask, CheckResult, ok
from audioloom_stage.result import Result

from audioloom_trainer.runtime.resources import available_cores
from audioloom_trainer.settings import DoctorSettings

TENSORFLOW_WITHIN_S = 120.0


def doctor(settings: DoctorSettings) -> Result:
    """Make the checks; report each in one line."""
    cores = f"{available_cores()} for this process"
    checks: dict[str, Ask] = {"TensorFlow": _tensorflow, "cores": partial(ok, "cores", cores)}
    if settings.cache is not None:
        checks["cache"] = partial(check_room, "cache", settings.cache, int(settings.cache_bytes))
    return examine(settings.root, checks, TENSORFLOW_WITHIN_S)


def _tensorflow() -> CheckResult:
    from audioloom_trainer.distributed.strategy import (  # noqa: PLC0415 - imports TensorFlow
        describe_devices,
        set_up_tensorflow,
        versions,
    )

    set_up_tensorflow(threads=0, deterministic=False, seed=0)
    names = ", ".join(f"{name} {version}" for name, version in versions().items())
    return ok("TensorFlow", f"{names}, on {describe_devices()}")
