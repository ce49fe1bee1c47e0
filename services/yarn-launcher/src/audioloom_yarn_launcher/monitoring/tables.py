"""What commands answer to people: facts and tables, on lines that fit where they are read."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from audioloom_stage import safe_text

LEAST_TEXT = 30


def facts(named: Mapping[str, str], columns: int | None = None) -> list[str]:
    """A line a fact, its name before it; a long one goes on below itself.

    Args:
        named: each by its name.
        columns: of the terminal; None where nobody reads and a line may be of any length.
    """
    width = max(map(len, named), default=0)
    found: list[str] = []
    for name, text in named.items():
        first, *rest = _wrapped(safe_text(text), columns, width + 2)
        found += [
            f"{name:<{width}}  {first}".rstrip(),
            *(f"{'':<{width}}  {each}" for each in rest),
        ]
    return found


def table(rows: Sequence[Sequence[str]], columns: int | None = None) -> list[str]:
    """A line a row, the first of them the heading; the last column goes on below itself."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    before = sum(widths[:-1]) + 2 * (len(widths) - 1)
    found: list[str] = []
    for row in rows:
        cells = zip(row[:-1], widths[:-1], strict=True)
        start = "".join(f"{cell:<{width}}  " for cell, width in cells)
        first, *rest = _wrapped(row[-1], columns, before)
        found += [f"{start}{first}".rstrip(), *(f"{'':<{before}}{each}" for each in rest)]
    return found


def _wrapped(text: str, columns: int | None, before: int) -> list[str]:
    if columns is None or len(text) <= columns - before:
        return [text]
    room = max(columns - before, LEAST_TEXT)
    return textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]
