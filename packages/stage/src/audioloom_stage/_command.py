"""Turn a declared command into a typer command when it is called, not when the stage starts."""

import inspect
from typing import Any, Literal

import typer

from audioloom_stage._declaration import Declaration
from audioloom_stage._help import StageCommand, show_all
from audioloom_stage._options import Option
from audioloom_stage._perform import Common, perform

# The options that every command of every stage has.
CONFIG_VARIABLE = "AUDIOLOOM_CONFIG"
LOG_FORMAT_VARIABLE = "AUDIOLOOM_LOG_FORMAT"

# Our own options carry a prefix, so that the words of the settings can be told from them.
_COMMON = "common_"


def build(declaration: Declaration[Any], context: dict[str, Any]) -> Any:
    """Make the typer command of a declared command."""
    declared = declaration.declared

    def run(**words: Any) -> int:
        common = Common(**{key: words.pop(_COMMON + key) for key in Common.__annotations__})
        return perform(declaration, words, common)

    parameters = [_parameter(each) for each in declared if not each.secret] + _common()
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    shown = type("DeclaredCommand", (StageCommand,), {"declared": declared})
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(
        declaration.name.split()[-1], cls=shown, help=declaration.help, context_settings=context
    )(run)
    return typer.main.get_command(alone)


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
        flags = [option.flag]
        if option.shape == "switch":
            flags = [f"{option.flag}/--no-{option.flag[2:]}"]
        if option.short:
            flags.insert(0, option.short)
        default = typer.Option(None, *flags, show_default=False, help=option.help, **extra)
    return _named(option.name, kind | None, default)


def _common() -> list[inspect.Parameter]:
    text, logs = str | None, Literal["auto", "console", "json"]
    said = {
        "config": (text, _config_option()),
        "as_json": (bool, _switch("Print the result as JSON.", "--json")),
        "log_format": (logs, _log_format_option()),
        "verbose": (bool, _switch("Log details too.", "--verbose", "-v")),
        "quiet": (bool, _switch("Log warnings and errors only.", "--quiet", "-q")),
        "debug": (bool, _switch("Show tracebacks, and log everything.", "--debug")),
        "help_all": (bool, _help_all_option()),
    }
    return [_named(_COMMON + name, kind, default) for name, (kind, default) in said.items()]


def _config_option() -> Any:
    return typer.Option(
        None,
        "--config",
        metavar="FILE.toml",
        envvar=CONFIG_VARIABLE,
        help="File with the settings of all stages, one table each.",
    )


def _log_format_option() -> Any:
    return typer.Option(
        "auto",
        "--log-format",
        envvar=LOG_FORMAT_VARIABLE,
        metavar="auto|console|json",
        show_default=False,
        help="Log format; auto is console on a terminal, otherwise JSON.  [default: auto]",
    )


def _help_all_option() -> Any:
    off: Any = False
    return typer.Option(
        off,
        "--help-all",
        help="Show this page with the environment variables.",
        show_default=False,
        is_eager=True,
        expose_value=False,
        callback=show_all,
    )


def _switch(about: str, *flags: str) -> Any:
    off: Any = False
    return typer.Option(off, *flags, help=about, show_default=False)


def _named(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
