"""A command from its words to its exit code, and its page of help.

It is made when it is called, not when the stage starts.
"""

from __future__ import annotations

import inspect
import logging
import os
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer
from typer.core import TyperCommand

from audioloom_stage._error_report import emit_error, report, say_next
from audioloom_stage._options import Option
from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import emit, reserved_stdout
from audioloom_stage.terminal import show_bar

if TYPE_CHECKING:
    from audioloom_stage.app import Declaration  # it imports this module when a command is called

_OFF: Any = False

# Our own options carry a prefix, so that the words of the settings can be told from them.
_COMMON = "common_"


def build(declaration: Declaration) -> Any:
    """Make the typer command of a declared command."""

    def run(**words: Any) -> int:
        return perform(declaration, words)

    parameters = [_parameter(each) for each in declaration.declared if not each.secret]
    parameters += _common()
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    shown = type("DeclaredCommand", (_StageCommand,), {"declared": declaration.declared})
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    name, look = declaration.name.split()[-1], declaration.app.info.context_settings
    alone.command(name, cls=shown, help=declaration.help, context_settings=look)(run)
    return typer.main.get_command(alone)


def perform(job: Declaration, words: dict[str, Any]) -> int:
    """Run a command to its exit code. Every error ends here, and nowhere else."""
    names = ("config", "as_json", "log_format", "verbose", "quiet", "debug")
    config, as_json, log_format, verbose, quiet, debug = (words.pop(_COMMON + n) for n in names)
    # structlog costs 0.2 s, which --help must not pay.
    from audioloom_stage._sources import read_settings  # noqa: PLC0415
    from audioloom_stage.logs import LogSettings, configure_logs  # noqa: PLC0415

    level = logging.WARNING if quiet else logging.INFO
    if verbose or debug:
        level = logging.DEBUG
    app = job.app
    logs = LogSettings(format=log_format, level=level, debug=debug, bound={"stage": app.stage})
    with reserved_stdout() as write:
        try:
            configure_logs(logs)
            settings = read_settings(job, words, os.environ, config)
            function = job.function
            show_bar("")
            result = function(settings)
            read = emit(result, write, kind=job.kind, as_json=as_json)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - this is the rim
            show_bar("")
            code = report(error, program=app.program, debug=debug, as_json=logs.as_json)
            if as_json:
                emit_error(error, write, program=app.program, kind=job.kind)
            return code
    if result.exit_code == 0:
        say_next(result.next, as_json=logs.as_json)
    return result.exit_code or (ExitCode.DONE if read else ExitCode.UNREAD)


def _parameter(option: Option) -> inspect.Parameter:
    """Make a typer parameter. Typer only splits the words; pydantic checks all values together."""
    kind: Any = bool if option.shape == "switch" else str
    if option.shape in ("many", "pairs"):
        kind = list[str]
    offered = sorted(option.choices)
    extra: dict[str, Any] = {"metavar": option.metavar} if option.shape != "switch" else {}
    if offered:
        extra["autocompletion"] = lambda incomplete: [
            c for c in offered if c.startswith(incomplete)
        ]
    if option.positional:
        default = typer.Argument(None, show_default=False, help=option.help, **extra)
    else:
        flags = "/".join(option.flags[-2:] if option.shape == "switch" else [option.flag])
        short = [option.short] if option.short else []
        default = typer.Option(None, *short, flags, show_default=False, help=option.help, **extra)
    return _named(option.name, kind | None, default)


def _common() -> list[inspect.Parameter]:
    """Make the parameters of the options that every command of every stage has."""
    config = typer.Option(
        None,
        "--config",
        metavar="FILE.toml",
        envvar="AUDIOLOOM_CONFIG",
        help="File with the settings of all stages, one table each.",
    )
    log_format = typer.Option(
        "console",
        "--log-format",
        envvar="AUDIOLOOM_LOG_FORMAT",
        metavar="console|json",
        show_default=False,
        help="Form of the log on stderr; JSON is for programs.  [default: console]",
    )
    help_all = {"is_eager": True, "expose_value": False, "callback": _show_all}
    about_all = "Show this page with the environment variables."
    return [
        _named(f"{_COMMON}config", str | None, config),
        _switch("as_json", "Print the result as JSON.", "--json"),
        _named(f"{_COMMON}log_format", Literal["console", "json"], log_format),
        _switch("verbose", "Log details too.", "--verbose", "-v"),
        _switch("quiet", "Log warnings and errors only.", "--quiet", "-q"),
        _switch("debug", "Show tracebacks, and log everything.", "--debug"),
        _switch("help_all", about_all, "--help-all", **help_all),
    ]


def _switch(name: str, about: str, *flags: str, **more: Any) -> inspect.Parameter:
    option = typer.Option(_OFF, *flags, help=about, show_default=False, **more)
    return _named(_COMMON + name, bool, option)


def _named(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


class _StageCommand(TyperCommand):
    """A command whose help shows each setting's default and variable."""

    declared: ClassVar[tuple[Option, ...]] = ()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Name the positionals as they are: in brackets only where they may be left out."""
        pieces = [self.options_metavar] if self.options_metavar else []
        for option in self.declared:
            if option.positional:
                dots = "..." if option.shape == "many" else ""
                text = option.metavar + dots
                pieces.append(text if option.required else f"[{text}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the help page."""
        everything = ctx.meta.get(_ALL, False)
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.declared:
            title = "Arguments" if option.positional else option.group or "Options"
            called = option.metavar if option.positional else _spelt(option)
            about = _described(option, variable=everything)
            sections.setdefault(title, []).append((called, about))
        ours = {option.name for option in self.declared}
        for param in self.get_params(ctx):
            if param.name not in ours and (record := param.get_help_record(ctx)) is not None:
                about = getattr(param, "help", "") or record[1]
                if everything and param.envvar:
                    about += f"  [variable: {param.envvar}]"
                sections.setdefault("Common options", []).append((record[0], about))
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


_ALL = "audioloom_stage.help_all"


def _show_all(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - typer's form of a callback
    """Print the help page with the environment variables, and end."""
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


def _spelt(option: Option) -> str:
    """Return how a setting is given: `-w, --workers INT`, or its variable when it is a secret."""
    if option.secret:
        return option.variable
    flag = option.flag
    if option.shape == "switch" and option.default != "off":
        flag = f"{flag} / --no-{flag[2:]}"
    return f"{option.short}, {flag}".removeprefix(", ") + (
        "" if option.shape == "switch" else f" {option.metavar}"
    )


def _described(option: Option, *, variable: bool) -> str:
    """Return a setting's help with its default, and with its *variable* if one is passed."""
    notes = []
    if option.required:
        notes.append("required")
    elif option.default and (option.shape, option.default) != ("switch", "off"):
        notes.append(f"default: {option.default}")
    if option.shape in ("many", "pairs") and not option.positional:
        notes.append("repeatable")
    if option.secret:
        notes.append("variable or file only")
    elif variable and option.variable:
        notes.append(f"variable: {option.variable}")
    return f"{option.help}  [{'; '.join(notes)}]" if notes else option.help
