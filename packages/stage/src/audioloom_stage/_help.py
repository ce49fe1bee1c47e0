"""The `--help` page of a command: its settings first, then the options of every command."""

from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from audioloom_stage._options import Option


class StageCommand(TyperCommand):
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
            called = option.metavar if option.positional else spelt(option)
            about = described(option, variable=everything)
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


def show_all(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - typer's form of a callback
    """Print the help page with the environment variables, and end."""
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


def spelt(option: Option) -> str:
    """Return how a setting is given: `-w, --workers INT`, or its variable when it is a secret."""
    if option.secret:
        return option.variable
    flag = option.flag
    if option.shape == "switch" and option.default != "off":
        flag = f"{flag} / --no-{flag[2:]}"
    return f"{option.short}, {flag}".removeprefix(", ") + (
        "" if option.shape == "switch" else f" {option.metavar}"
    )


def described(option: Option, *, variable: bool = False) -> str:
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
