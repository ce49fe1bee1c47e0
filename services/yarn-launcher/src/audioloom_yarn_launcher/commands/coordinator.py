"""`coordinator`: the coordinator of a gang on a cluster, in the application master's container."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from audioloom_stage.errors import StageError
from audioloom_stage.escapes import safe_text
from audioloom_stage.exit_codes import exit_code
from audioloom_stage.logs import LogSettings, bind, configure_logs

from audioloom_yarn_launcher.coordinator.context import Gang
from audioloom_yarn_launcher.coordinator.supervisor import gang_at_work, run_attempts
from audioloom_yarn_launcher.errors import StoreLost
from audioloom_yarn_launcher.rendezvous.causes import Cause
from audioloom_yarn_launcher.rendezvous.messages import CLIENT, STOP_KEY, Stop
from audioloom_yarn_launcher.runs.lease import acquire, recover
from audioloom_yarn_launcher.runs.run_spec import RunSpec
from audioloom_yarn_launcher.yarn import skein_application
from audioloom_yarn_launcher.yarn.application_errors import outcome_text
from audioloom_yarn_launcher.yarn.application_spec import JOB
from audioloom_yarn_launcher.yarn.container_workers import SkeinWorkers

log = structlog.get_logger()


def main(_words: Sequence[str]) -> int:
    """Coordinate the run of the job file here to its end, then end the application."""
    configure_logs(LogSettings(format="json", bound={"stage": "yarn-launcher"}))
    spec = RunSpec.model_validate_json(Path(JOB).read_bytes())
    application = skein_application.current_application()
    bind(run=spec.name)
    try:
        cause = _run(spec, application)
    except StoreLost as error:  # the application master is ending, and all with it
        log.warning("the application master is gone", found=str(error))
        return 75
    except Exception as error:
        text = str(error) if isinstance(error, StageError) else f"{type(error).__name__}: {error}"
        code = int(exit_code(error))
        log.exception("the coordinator cannot go on", exit_code=code)
        return end(application, "FAILED", code, text)
    if cause is None:
        return end(application, "SUCCEEDED", 0, "the run is over")
    log.error(cause.text, exit_code=cause.exit_code)
    status = "KILLED" if cause.kind == "interrupted" else "FAILED"
    return end(application, status, cause.exit_code, cause.text)


def _run(spec: RunSpec, application: Any) -> Cause | None:
    recovered = recover(spec)
    if recovered.over:
        return recovered.cause
    started = acquire(spec)
    if started is None:
        log.info("already committed", manifest=str(spec.manifest))
        return None
    limits = spec.limits.after(recovered.executed_s)
    place = partial(SkeinWorkers, application=application)
    with gang_at_work(skein_application.SkeinStore(application), spec.plan, limits, place) as gang:
        _obey_clients(gang)
        return run_attempts(gang, spec, started, before=recovered.attempts)[0]


def _obey_clients(gang: Gang) -> None:
    def look() -> None:
        with suppress(StoreLost):
            text = gang.store.get_prefix(CLIENT).get(STOP_KEY)
            if text is None:
                return
            stop = Stop(**json.loads(text))
            while gang.signals.times < stop.times:
                gang.signals(stop.signal)

    gang.store.subscribe(CLIENT, look)
    look()


def end(application: Any, status: str, code: int, text: str) -> int:
    """Tell YARN how the run ended, without its secrets; answer the exit code."""
    sys.stderr.flush()
    told = safe_text(text)  # YARN shows it to all who may see its pages
    with suppress(skein_application.import_skein().exceptions.SkeinError):
        application.shutdown(status, outcome_text(code, told))
    return code
