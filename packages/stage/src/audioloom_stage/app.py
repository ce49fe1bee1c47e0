"""A stage's command line, declared from its settings models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import typer
from typer.core import TyperCommand

from audioloom_stage.exit_codes import ExitCode
from audioloom_stage.result import Result

if TYPE_CHECKING:
    from pydantic import BaseModel  # 0.2 s, which a list of commands can do without

    from audioloom_stage._options import Option

Model = TypeVar("Model", bound="BaseModel")

_EPILOG = "Exit codes: " + ", ".join(f"{code.value} {code.meaning}" for code in ExitCode)
_OFF: Any = False
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
        settings: the module of the settings models, imported when a command is called.
        families: first words of two-word commands (`env` of `env pack`), each with its help.
        version: by default the version of the installed distribution `audioloom-<stage>`.

    Attributes:
        declarations: its commands.
    """

    def __init__(
        self,
        stage: str,
        *,
        help: str,  # noqa: A002 - typer's word
        stages: Iterable[str] = (),
        settings: str = "",
        families: Mapping[str, str] | None = None,
        version: str | None = None,
    ) -> None:
        self.stage = stage
        self.stages = tuple(stages)
        self.program = f"audioloom-{stage}"
        self.settings = settings
        self.declarations: list[Declaration[Any]] = []
        self._version = version
        super().__init__(
            name=self.program, help=help, epilog=_EPILOG, pretty_exceptions_enable=False, **LOOK
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
        self._families: dict[str, typer.Typer] = {"": self}
        for name, about in (families or {}).items():
            self._families[name] = family = typer.Typer(name=name, help=about, **LOOK)
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

    def place(self, name: str) -> tuple[typer.Typer, str]:
        """Return the family of a command and its last word: `env pack` is `pack` of `env`."""
        family, _, last = name.rpartition(" ")
        return self._families[family], last

    def _print_version(self, wanted: bool) -> None:  # noqa: FBT001 - typer's form of a callback
        if wanted:
            from importlib.metadata import version  # noqa: PLC0415 - 15 ms, seldom needed

            typer.echo(f"{self.program} {self._version or version(self.program)}")
            raise typer.Exit


@dataclass(frozen=True)
class Declaration(Generic[Model]):
    """One command by its words (`run`, `env pack`), with the settings model if it was passed."""

    app: StageApp
    name: str
    function: Callable[[Model], Result]
    given: type[Model] | None

    @property
    def kind(self) -> str:
        """The `kind` in the JSON object of the command's result."""
        return f"audioloom.{self.app.stage}.{self.name.replace(' ', '.')}"

    @property
    def help(self) -> str:
        """The help text of the command, from the function's docstring."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def settings(self) -> type[Model]:
        """The settings model: as passed, else what the function's annotation names.

        Raises:
            TypeError: the annotation names no settings model.
        """
        hints = [kind for key, kind in self.function.__annotations__.items() if key != "return"]
        found: object = self.given or (hints[0] if len(hints) == 1 else None)
        if isinstance(found, str) and self.app.settings:
            found = getattr(import_module(self.app.settings), found, None)
        if not isinstance(found, type):
            raise TypeError(
                f"{self.name}: annotate its one argument with a settings model of"
                f" {self.app.settings or 'the module that StageApp(settings=…) names'}"
            )
        return cast("type[Model]", found)

    @cached_property
    def declared(self) -> tuple[Option, ...]:
        """The options of the settings model."""
        from audioloom_stage._options import options  # noqa: PLC0415 - it imports pydantic

        return options(self.settings, self.app.stage)


def command(
    app: StageApp,
    settings: type[Model] | None = None,
    *,
    name: str | None = None,
    hidden: bool = False,
) -> Callable[[Callable[[Model], Result]], Callable[[Model], Result]]:
    """Make a function of one settings model a command of the stage.

    The function's docstring is the help and its name is the command's (`list_` is `list`). The
    function itself is returned unchanged, so tests can call it.

    Args:
        app: the stage.
        settings: the model. By default the function's annotation names it in the app's module of
            settings, and `--help` of the stage does not import it.
        name: the command's name, by default the function's; two words if the first is a family.
        hidden: leave the command out of the help, because only programs call it.

    Raises:
        TypeError: the model is not frozen, lets unknown fields through, or a field cannot be a
            flag or has the flag of another. Without *settings*: at the first call.
    """

    def declare(function: Callable[[Model], Result]) -> Callable[[Model], Result]:
        called = name or getattr(function, "__name__", "run").rstrip("_").replace("_", "-")
        made = Declaration(app, called, function, settings)
        if settings is not None:
            _ = made.declared  # check the model now, not at the first call
        app.declarations.append(made)
        late = type("DeclaredCommand", (LateCommand,), {"declaration": made})
        first = made.help.partition("\n")[0]  # whole, where typer would cut it short
        where, last = app.place(called)
        where.command(last, cls=late, help=made.help, short_help=first, hidden=hidden)(
            _never_called
        )
        return function

    return declare


class LateCommand(TyperCommand):
    """A name and a line of help, which becomes the command when it is called."""

    declaration: ClassVar[Declaration[Any]]

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Let the real command parse the words."""
        from audioloom_stage._command import build  # noqa: PLC0415 - it imports pydantic

        return build(self.declaration).make_context(info_name, args, *more, **extra)


def _never_called() -> None:
    """Fill the place where typer requires a function; the real command has the real function."""
