"""Lay out tables, facts and sizes for people with rich: numbers right, words left, no colours."""

import io
import re
from collections.abc import Mapping, Sequence

from audioloom_stage.escapes import safe_text
from audioloom_stage.result import JSON
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNLIMITED = 100_000  # columns, where no person reads and a line may be of any length
_LEAST_TEXT = 30  # columns of the last cell, however narrow the terminal is
_MOST_PARTS = 80
_MOST_NUMBERS = 8  # that are shown one by one
_NUMBER = re.compile(r"[0-9][0-9,.]*%?( or [0-9,]+| [kMGT]?B)?")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, columns: int | None = None) -> str:
    """Lay rows out under a head, if it has names; a row may have fewer cells.

    The last cell of a row wraps at the width *columns*; None is for lines of any length.
    """
    shown = [[Text(safe_text(cell)) for cell in row] for row in rows]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(head))
    widths = []
    for at in range(len(head) or max(map(len, shown))):
        cells = [row[at] for row in shown if at < len(row)]
        numeric = bool(head and cells) and all(_NUMBER.fullmatch(cell.plain) for cell in cells)
        name = Text(head[at]) if head else Text()
        grid.add_column(name, justify="right" if numeric else "left", no_wrap=True)
        widths.append(max(cell.cell_len for cell in (name, *cells)) + 2)
    for row in shown:
        grid.add_row(*row)
    # The last column wraps, and no word of it is broken, because it may be a path.
    words = [word for row in shown if len(row) == len(widths) for word in row[-1].plain.split()]
    text = min(widths[-1], max([_LEAST_TEXT, *map(cell_len, words)]) + 2)
    grid.columns[-1].no_wrap = False
    width = max(columns or _UNLIMITED, sum(widths[:-1]) + text)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def facts(named: Mapping[str, str], *, columns: int | None = None) -> str:
    """Lay facts out, one a line, each after its name; a long fact wraps in its own column."""
    return table((), [*named.items()], columns=columns) if named else ""


def size_text(count: int) -> str:
    """Format a size like ``1.2 GB``, in powers of ten as storage is sold and ``du --si`` counts."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and units[1:]:  # noqa: PLR2004 - rounds to three digits
        size, units = size / 1000, units[1:]
    return f"{size:.{int(units[0] != 'B' and size < 99.5)}f} {units[0]}"  # noqa: PLR2004


def duration_text(seconds: float | None) -> str:
    """Format a duration: 45 s, 3 min 20 s, 2 h 5 min; nothing for None."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    hours, left = divmod(minutes, 60)
    return f"{hours:,} h {left} min" if hours else f"{minutes} min {rest} s"


def value_text(value: JSON) -> str:
    """Format any value of a manifest in one line; many numbers are counted."""
    match value:
        case str():
            text = value
        case bool():
            text = "yes" if value else "no"
        case int() | float():
            text = str(value) if isinstance(value, int) else f"{value:.6g}"
        case Mapping():
            pairs = [*value.items()][:_MOST_PARTS]
            text = ", ".join(f"{key} {value_text(each)}" for key, each in pairs)
        case Sequence() if len(value) > _MOST_NUMBERS and isinstance(value[0], float):
            text = f"{len(value):,} numbers"
        case Sequence():
            text = ", ".join(value_text(each) for each in value[:_MOST_PARTS])
        case _:
            text = "none"
    return text
