"""A stage's command line, declared from its settings models."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import Result
from audioloom_stage.terminal import can_draw, show_bar

if TYPE_CHECKING:
    from pydantic import BaseModel  # 0.2 s, which a list of commands can do without

    from audioloom_stage._options import Option

Function = TypeVar("Function", bound=Callable[..., Any])

_EPILOG = "Exit codes: " + ", ".join(f"{code.value} {code.meaning}" for code in ExitCode)
_OFF: Any = False
_QUIET = frozenset({"--help", "-h", "--help-all", "--quiet", "-q", "json", "--log-format=json"})
"""Words of a command that should draw nothing."""
LOOK: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": None,  # rich would cost 0.18 s before the first letter of a help page
    "context_settings": {"help_option_names": ["--help", "-h"], "max_content_width": 100},
}
"""What typer is told of every page of help."""


class StageApp(typer.Typer):
    """The command line of a stage; `command` fills it and `run_app` runs it.

    Args:
        stage: `sharder`; the program is then `audioloom-sharder`, the table `[sharder]`.
        help: the purpose of the stage, one sentence.
        stages: every stage that reads the configuration file; their tables are no mistakes.
        package: the package of the stage, of which `command` finds settings and functions by name.
        families: first words of two-word commands (`env` of `env pack`), each with its help.
        program: the name of the program, if it is not `audioloom-<stage>`; the distribution, whose
            version is printed, is called as it is.

    Attributes:
        declarations: its commands.
        families: the commands of each family; itself under "".
    """

    def __init__(
        self,
        stage: str,
        *,
        help: str,  # noqa: A002 - typer's word
        stages: Iterable[str] = (),
        package: str = "",
        families: Mapping[str, str] | None = None,
        program: str = "",
    ) -> None:
        self.stage = stage
        self.stages = tuple(stages)
        self.program = program or f"audioloom-{stage}"
        self.package = package
        self.declarations: list[Declaration] = []
        super().__init__(
            name=self.program,
            cls=Commands,
            help=help,
            epilog=_EPILOG,
            pretty_exceptions_enable=False,
            **LOOK,
        )
        flag: Any = typer.Option(
            _OFF,
            "--version",
            help="Print the version.",
            show_default=False,
            is_eager=True,
            callback=self._print_version,
        )

        def root(*, version: bool = flag) -> None:
            del version

        self.callback()(root)
        self.families: dict[str, typer.Typer] = {"": self}
        for name, about in (families or {}).items():
            self.families[name] = family = typer.Typer(name=name, help=about, **LOOK)
            family.callback()(_never_called)
            self.add_typer(family)

    @property
    def known(self) -> frozenset[str]:
        """The settings of all commands, which the variables and the TOML table may name.

        Raises:
            TypeError: two commands have a setting of one name that takes different values.
        """
        found: dict[str, tuple[str, str]] = {}
        for declaration in self.declarations:
            for option in declaration.declared:
                if option.positional:
                    continue
                other, takes = found.setdefault(option.name, (declaration.name, option.takes))
                if takes != option.takes:
                    raise TypeError(
                        f"{other} and {declaration.name} share the variable {option.variable}, and"
                        f" take different values: {takes} and {option.takes}"
                    )
        return frozenset(found)

    def kind_of(self, words: Sequence[str]) -> str:
        """Return the kind of the JSON object that the command with these words prints."""
        for each in self.declarations:
            called = each.name.split()
            if called == list(words[: len(called)]):
                return each.kind
        return f"audioloom.{self.stage}"

    def _print_version(self, wanted: bool) -> None:  # noqa: FBT001 - typer's form of a callback
        if wanted:
            from importlib.metadata import version  # noqa: PLC0415 - 15 ms, seldom needed

            typer.echo(f"{self.program} {version(self.program)}")
            raise typer.Exit


@dataclass(frozen=True)
class Declaration:
    """One command of a stage.

    Attributes:
        app: the stage.
        name: its words: `run`, `env pack`.
        help: its help text.
        model: the settings model, or its name in the module `settings` of the app's package.
        performer: the function, or its place below the package `commands`: `scan:scan`.
    """

    app: StageApp
    name: str
    help: str
    model: type[BaseModel] | str
    performer: Callable[[Any], Result] | str

    @property
    def kind(self) -> str:
        """The `kind` in the JSON object of the command's result."""
        return f"audioloom.{self.app.stage}.{self.name.replace(' ', '.')}"

    @property
    def function(self) -> Callable[[Any], Result]:
        """The function, which is imported now if it is named by its place."""
        if not isinstance(self.performer, str):
            return self.performer
        module, _, name = self.performer.partition(":")
        found = getattr(import_module(f"{self.app.package}.commands.{module}"), name)
        return cast("Callable[[Any], Result]", found)

    @cached_property
    def settings(self) -> type[BaseModel]:
        """The settings model, which is imported now if it is given by its name."""
        if not isinstance(self.model, str):
            return self.model
        found = getattr(import_module(f"{self.app.package}.settings"), self.model)
        return cast("type[BaseModel]", found)

    @cached_property
    def declared(self) -> tuple[Option, ...]:
        """The options of the settings model."""
        from audioloom_stage._options import options  # noqa: PLC0415 - it imports pydantic

        return options(self.settings, self.app.stage)


def command(
    app: StageApp, settings: type[BaseModel] | str, place: str = "", *, name: str | None = None
) -> Callable[[Function], Function]:
    """Make a function of one settings model a command of the stage.

    The function's docstring is the help and its name is the command's (`list_` is `list`). The
    function itself is returned unchanged, so tests can call it.

    Args:
        app: the stage.
        settings: the model, or its name in the module `settings` of the app's package: then
            `--help` of the stage does not import it.
        place: the module and the name of the function that performs the command, below the
            package `commands`: `scan:scan`. It is imported when the command is called, and the
            decorated function only declares it.
        name: the command's name, by default the function's; two words if the first is a family.

    Raises:
        TypeError: the model is not frozen, lets unknown fields through, or a field cannot be a
            flag or has the flag of another. Of a model given by its name: at the first call.
    """

    def declare(function: Function) -> Function:
        called = name or getattr(function, "__name__", "run").rstrip("_").replace("_", "-")
        made = Declaration(app, called, inspect.getdoc(function) or "", settings, place or function)
        if not isinstance(settings, str):
            _ = made.declared  # check the model now, not at the first call
        app.declarations.append(made)
        late = type("DeclaredCommand", (LateCommand,), {"declaration": made})
        first = made.help.partition("\n")[0]  # whole, where typer would cut it short
        family, _, last = called.rpartition(" ")  # `env pack` is `pack` of `env`
        app.families[family].command(last, cls=late, help=made.help, short_help=first)(
            _never_called
        )
        return function

    return declare


class Commands(TyperGroup):
    """The commands and families of a stage; `gc` alone is answered with `env gc`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first word names."""
        for name, family in self.commands.items():
            if args[0] not in self.commands and args[0] in getattr(family, "commands", {}):
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{name} {args[0]}'?")
        return super().resolve_command(ctx, args)


class LateCommand(TyperCommand):
    """A name and a line of help, which becomes the command when it is called."""

    declaration: ClassVar[Declaration]

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Let the real command parse the words; say at once on a terminal that it starts."""
        words = {*args, os.environ.get("AUDIOLOOM_LOG_FORMAT")}
        if can_draw() and not extra.get("resilient_parsing") and not words & _QUIET:
            show_bar("starting")  # `perform` removes it when all imports are done
        try:
            from audioloom_stage._command import build  # noqa: PLC0415 - it imports pydantic

            return build(self.declaration).make_context(info_name, args, *more, **extra)
        except BaseException:
            show_bar("")
            raise


def _never_called() -> None:
    """Fill the place where typer requires a function; the real command has the real function."""
