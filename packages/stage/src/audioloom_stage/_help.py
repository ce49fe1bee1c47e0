"""What `--help` of a command looks like: its settings first, what every command has after them."""

from __future__ import annotations

from typing import Any, ClassVar

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
        ours = {option.name: option for option in self.declared}
        rest = [
            (record[0], getattr(param, "help", "") or record[1])
            for param in self.get_params(ctx)
            if param.name not in ours and (record := param.get_help_record(ctx)) is not None
        ]
        sections = {
            "Arguments": [
                (each.metavar, described(each)) for each in self.declared if each.positional
            ],
            "Settings": [
                (spelt(each), described(each)) for each in self.declared if not each.positional
            ],
            "Every command": rest,
        }
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def spelt(option: Option) -> str:
    """Answer how a setting is given: `-w, --workers INT`, or its variable when it is a secret."""
    if option.secret:
        return option.variable
    flag = option.flag
    if option.shape == "switch":
        flag = f"{flag} / --no-{flag[2:]}"
    return f"{option.short}, {flag}".removeprefix(", ") + (
        "" if option.shape == "switch" else f" {option.metavar}"
    )


def described(option: Option) -> str:
    """Answer a setting's help with its default and its variable."""
    notes = []
    if option.required:
        notes.append("required")
    elif option.default:
        notes.append(f"default: {option.default}")
    if option.shape in ("many", "pairs") and not option.positional:
        notes.append("repeatable")
    notes.append("variable or file only" if option.secret else f"variable: {option.variable}")
    return f"{option.help}  [{'; '.join(notes)}]".strip()
