"""The `main` of a stage: it takes words and returns an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from audioloom_stage._error_report import emit_error, report
from audioloom_stage.errors import BadConfiguration, StageError, Usage
from audioloom_stage.escapes import safe_text
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.process_exit import as_program
from audioloom_stage.result import write_to
from audioloom_stage.terminal import write_line

if TYPE_CHECKING:
    from audioloom_stage.app import StageApp


def run_app(app: StageApp) -> Callable[..., int]:
    """Make the `main` of a stage, which takes the words after the program's name.

    It returns the exit code and never raises or exits, so a console script and a test call it
    alike. Without words it takes those of the process, which then ends by `as_program`.
    """

    def main(argv: Sequence[str] | None = None) -> int:
        return as_program(partial(_run, app, None)) if argv is None else _run(app, argv)

    return main


def _run(app: StageApp, argv: Sequence[str] | None) -> int:
    try:
        code = _parse_and_perform(app, argv)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - before a command began
        code = report(error, program=app.program, debug=False, as_json=False)
    return _flushed(int(code))


def _parse_and_perform(app: StageApp, argv: Sequence[str] | None) -> int:
    program = typer.main.get_command(app)
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        code = program.main(args=words, prog_name=app.program, standalone_mode=False)
    except SystemExit as ending:  # shell completion, a reader of --help that went away, a library
        if isinstance(ending.__context__, BrokenPipeError):
            return ExitCode.UNREAD
        if isinstance(ending.code, str):
            write_line(safe_text(ending.code, lines=True))
            return ExitCode.OUR_BUG
        return int(ending.code or 0)
    except typer.TyperException as mistake:
        wrong: StageError | None = _of_a_variable(mistake)
        if wrong is not None:
            code = report(wrong, program=app.program, debug=False, as_json=False)
        else:
            said = io.StringIO()
            mistake.show(said)  # type: ignore[attr-defined]
            write_line(safe_text(said.getvalue().rstrip("\n"), lines=True))
            code, hint = mistake.exit_code, f"{app.program} --help lists the commands"
            wrong = Usage(mistake.format_message(), hint=hint)
        if "--json" in words:
            write = partial(write_to, sys.stdout)
            emit_error(wrong, write, program=app.program, kind=app.kind_of(words))
        return int(code)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    return code if isinstance(code, int) else 0


def _of_a_variable(mistake: Any) -> BadConfiguration | None:
    """Return the error of a value that a variable gave, not the command line; None for others."""
    option, context = getattr(mistake, "param", None), getattr(mistake, "ctx", None)
    if option is None or context is None:
        return None
    source = context.get_parameter_source(option.name)
    if source is None or source.name != "ENVIRONMENT":
        return None
    return BadConfiguration(mistake.message.rstrip("."), where=option.envvar)


def _flushed(code: int) -> int:
    """Flush stdout while an error can still be caught; at exit Python would complain about it."""
    if sys.stdout is None:  # stdout was closed before the program began
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
