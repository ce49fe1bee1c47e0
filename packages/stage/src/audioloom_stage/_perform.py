"""Run one command from its words to its exit code: settings, logs, the work, its result."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from audioloom_stage._declaration import Declaration
from audioloom_stage._error_report import as_envelope, report, say_next
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import emit, emit_error, reserved_stdout


@dataclass(frozen=True)
class Common:
    """The options that every command has."""

    config: str | None
    as_json: bool
    log_format: Literal["auto", "console", "json"]
    verbose: bool
    quiet: bool
    debug: bool


def perform(job: Declaration[Any], words: Mapping[str, Any], common: Common) -> int:
    """Run a command to its exit code. Every error ends here, and nowhere else."""
    # structlog costs 0.2 s, which --help must not pay.
    from audioloom_stage._sources import read_settings  # noqa: PLC0415
    from audioloom_stage.logs import LogSettings, configure_logs  # noqa: PLC0415

    logs = LogSettings(
        format=common.log_format,
        level=_level(common),
        debug=common.debug,
        bound={"stage": job.stage},
    )
    with reserved_stdout() as write:
        try:
            configure_logs(logs)
            settings = read_settings(
                job.settings,
                job.declared,
                stage=job.stage,
                stages=job.stages,
                known=job.known(),
                flags=words,
                environ=os.environ,
                config=common.config,
            )
            result = job.function(settings)
            read = emit(result, write, kind=job.kind, as_json=common.as_json)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - this is the rim
            code = report(error, program=job.program, debug=common.debug, as_json=logs.as_json)
            if common.as_json:
                emit_error(as_envelope(error, job.program), write, kind=job.kind)
            return code
    if result.exit_code == 0:
        say_next(result.next, as_json=logs.as_json)
    return result.exit_code or (ExitCode.DONE if read else ExitCode.UNREAD)


def _level(common: Common) -> int:
    if common.verbose or common.debug:
        return 10
    return 30 if common.quiet else 20
