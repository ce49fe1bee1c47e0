"""Running one command: settings, logs, the work, its result, its exit code."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import typer

from audioloom_stage._declaration import Declaration
from audioloom_stage._ending import as_program
from audioloom_stage._failing import report, say_next
from audioloom_stage._terminal import write_line
from audioloom_stage.escapes import safe_text
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import emit, reserved_stdout

if TYPE_CHECKING:
    from audioloom_stage.app import StageApp


@dataclass(frozen=True)
class Common:
    """The options that every command has."""

    config: str | None
    as_json: bool
    log_format: Literal["auto", "console", "json"]
    verbose: bool
    quiet: bool
    debug: bool


class Main(Protocol):
    """The `main` of a stage."""

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Take the words after the program's name, and answer the exit code."""
        ...


def run_app(app: StageApp) -> Main:
    """Make the `main` of a stage: words after the program's name in, exit code out.

    It never raises and never exits by itself, so a console script and a test call it alike. Without
    words it is the program: it takes those of the process, which then ends by `as_program`.
    """

    def main(argv: Sequence[str] | None = None) -> int:
        if argv is None:
            return as_program(partial(_run, app, None))
        return _run(app, argv)

    return main


def _run(app: StageApp, argv: Sequence[str] | None) -> int:
    try:
        code = _parse_and_perform(app, argv)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - before a command began
        code = report(error, program=app.program, debug=False, as_json=False)
    return _flushed(int(code))


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
    try:
        configure_logs(logs)
        settings = read_settings(
            job.settings,
            job.declared,
            stage=job.stage,
            known=job.known(),
            flags=words,
            environ=os.environ,
            config=common.config,
        )
        with reserved_stdout() as write:
            result = job.function(settings)
            kind = f"audioloom.{job.stage}.{job.name}"
            read = emit(result, write, kind=kind, as_json=common.as_json)
        if result.exit_code == 0:
            say_next(result.next, as_json=logs.as_json)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - this is the rim
        return report(error, program=job.program, debug=common.debug, as_json=logs.as_json)
    return result.exit_code or (ExitCode.DONE if read else ExitCode.UNREAD)


def _level(common: Common) -> int:
    if common.verbose or common.debug:
        return 10
    return 30 if common.quiet else 20


def _parse_and_perform(app: StageApp, argv: Sequence[str] | None) -> int:
    program = typer.main.get_command(app)
    try:
        words = None if argv is None else list(argv)
        code = program.main(args=words, prog_name=app.program, standalone_mode=False)
    except SystemExit as ending:  # shell completion, a reader of --help that went away, a library
        if isinstance(ending.__context__, BrokenPipeError):
            return ExitCode.UNREAD
        if isinstance(ending.code, str):
            write_line(safe_text(ending.code, lines=True))
            return ExitCode.OUR_BUG
        return int(ending.code or 0)
    except typer.TyperException as mistake:
        said = io.StringIO()
        mistake.show(said)  # type: ignore[attr-defined]
        write_line(safe_text(said.getvalue().rstrip("\n"), lines=True))
        return mistake.exit_code
    except typer.Abort:
        return ExitCode.INTERRUPTED
    return code if isinstance(code, int) else 0


def _flushed(code: int) -> int:
    """Flush stdout while an error can still be caught; at exit Python would complain about it."""
    if sys.stdout is None:  # closed before the program began
        return code or ExitCode.UNREAD
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        return code or ExitCode.UNREAD
    return code
