"""A stage's command line, declared from its settings models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import typer
from pydantic import BaseModel

from audioloom_stage._help import StageCommand
from audioloom_stage._options import Option, options
from audioloom_stage.exit_codes import MEANING
from audioloom_stage.result import Result
from audioloom_stage.running import Common, Job, perform

Model = TypeVar("Model", bound=BaseModel)

_EPILOG = "Exit codes: " + ", ".join(f"{code.value} {text}" for code, text in MEANING.items())
# Every stage listens to these two, so that an operator sets them once.
CONFIG_VARIABLE = "AUDIOLOOM_CONFIG"
LOG_FORMAT_VARIABLE = "AUDIOLOOM_LOG_FORMAT"


_CONTEXT = {"help_option_names": ["--help", "-h"], "max_content_width": 100}


class StageApp(typer.Typer):
    """A typer application that knows its stage and the fields of all its commands.

    Attributes:
        stage: the stage's name: `yarn-launcher`.
        known: the fields of all commands, which the variables and the TOML table may name.
    """

    def __init__(self, stage: str, *, help: str, version: str | None = None) -> None:  # noqa: A002
        super().__init__(
            name=f"audioloom-{stage}",
            help=help,
            epilog=_EPILOG,
            no_args_is_help=True,
            # rich would cost 0.18 s before the first letter of a help page
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings=_CONTEXT,
        )
        self.stage = stage
        self.program = f"audioloom-{stage}"
        self.known: set[str] = set()
        self._version = version
        flag = _switch("Print the version.", "--version", callback=self._print_version)

        def root(*, version: bool = flag) -> None:
            del version

        self.callback()(root)

    @property
    def version(self) -> str:
        """The stage's version, as told or as installed."""
        if self._version is None:
            from importlib.metadata import version  # noqa: PLC0415 - 15 ms, seldom needed

            self._version = version(self.program)
        return self._version

    def _print_version(self, wanted: bool) -> None:  # noqa: FBT001 - typer's form of a callback
        if wanted:
            typer.echo(f"{self.program} {self.version}")
            raise typer.Exit


def stage_app(stage: str, *, help: str, version: str | None = None) -> StageApp:  # noqa: A002
    """Make the command line of a stage; `command` fills it and `run_app` runs it.

    Args:
        stage: `sharder`; the program is then `audioloom-sharder`, the table `[sharder]`.
        help: what the stage is for, one sentence.
        version: by default that of the installed distribution `audioloom-<stage>`.
    """
    return StageApp(stage, help=help, version=version)


def command(
    app: StageApp, settings: type[Model], *, name: str | None = None
) -> Callable[[Callable[[Model], Result]], Callable[[Model], Result]]:
    """Make a function of one settings model a command of the stage.

    The function's docstring is the help, its name is the command's (`list_` is `list`), and the
    function itself stays as it is, to be called by tests.

    Raises:
        TypeError: the model is not frozen, lets unknown fields through, or a field cannot be a
            flag or has the flag of another.
    """
    declared = options(settings, app.stage)
    app.known |= {option.name for option in declared}

    def declare(function: Callable[[Model], Result]) -> Callable[[Model], Result]:
        called = name or getattr(function, "__name__", "run").rstrip("_").replace("_", "-")
        job = Job(app, called, settings, declared, function)

        def run(**words: Any) -> int:
            common = Common(**{key: words.pop(_COMMON + key) for key in Common.__annotations__})
            return perform(job, words, common)

        parameters = [_parameter(each) for each in declared if not each.secret] + _common()
        _refuse_two_of_a_kind(parameters, settings)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        shown = type("DeclaredCommand", (StageCommand,), {"declared": declared})
        app.command(called, cls=shown, help=inspect.getdoc(function), context_settings=_CONTEXT)(
            run
        )
        return function

    return declare


# Our own options carry a prefix, so that the words of the settings can be told from them.
_COMMON = "common_"


def _parameter(option: Option) -> inspect.Parameter:
    """Make what typer reads: it only splits the words, pydantic checks them with all the others."""
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
    """Make the options that every command has."""
    text, logs = str | None, Literal["auto", "console", "json"]
    said = {
        "config": (text, _config_option()),
        "as_json": (bool, _switch("Print the result as JSON.", "--json")),
        "log_format": (logs, _log_format_option()),
        "verbose": (bool, _switch("Log details too.", "--verbose", "-v")),
        "quiet": (bool, _switch("Log warnings and errors only.", "--quiet", "-q")),
        "debug": (bool, _switch("Show tracebacks, and log everything.", "--debug")),
    }
    return [_named(_COMMON + name, kind, default) for name, (kind, default) in said.items()]


def _config_option() -> Any:
    return typer.Option(
        None,
        "--config",
        metavar="FILE.toml",
        envvar=CONFIG_VARIABLE,
        help=f"Settings of all stages, a table for each.  [variable: {CONFIG_VARIABLE}]",
    )


def _log_format_option() -> Any:
    about = "How to log; auto is JSON unless on a terminal."
    return typer.Option(
        "auto",
        "--log-format",
        envvar=LOG_FORMAT_VARIABLE,
        metavar="auto|console|json",
        show_default=False,
        help=f"{about}  [default: auto; variable: {LOG_FORMAT_VARIABLE}]",
    )


def _switch(about: str, *flags: str, callback: Callable[[bool], None] | None = None) -> Any:
    off: Any = False
    return typer.Option(
        off,
        *flags,
        help=about,
        show_default=False,
        callback=callback,
        is_eager=callback is not None,
    )


def _refuse_two_of_a_kind(parameters: list[inspect.Parameter], settings: type[BaseModel]) -> None:
    seen = {"--help", "-h"}
    for parameter in parameters:
        for flags in parameter.default.param_decls or ():
            for flag in flags.split("/"):
                if flag in seen:
                    raise TypeError(f"{settings.__name__}: two options have the flag {flag}")
                seen.add(flag)


def _named(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
