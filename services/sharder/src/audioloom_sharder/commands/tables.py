"""Plain tables for people: numbers right, words left."""

from __future__ import annotations

import re
from collections.abc import Sequence

from audioloom_stage import printable

from audioloom_sharder.splits.deviation import SHOWN, Deviation


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay *rows* out under *head*. A row shorter than the head ends in a remark of any width."""
    rows = [[printable(cell) for cell in row] for row in rows]  # of labels and paths
    whole = [row for row in rows if len(row) == len(head)]
    widths = [max(len(row[at]) for row in (head, *whole)) for at in range(len(head))]
    for row in rows:
        for at, cell in enumerate(row[: len(row) - (len(row) < len(head))]):
            widths[at] = max(widths[at], len(cell))
    numeric = [all(_is_number(row[at]) for row in whole) and bool(whole) for at in range(len(head))]
    return "\n".join(_line(row, widths, numeric) for row in (head, *rows))


def deviations_text(found: Sequence[Deviation]) -> str:
    """The labels that are furthest from the wish, or nothing where there is no wish."""
    if not found:
        return ""
    wish = found[0].wished
    head = ("label", "records", *(f"{name} ({part:.1%})" for name, part in wish.items()))
    rows = [
        (one.label, f"{one.records:,}", *(f"{one.got[name]:.1%}" for name in wish))
        for one in found[:SHOWN]
    ]
    return f"labels that deviate most from the wish\n{table(head, rows)}"


def bytes_text(count: int) -> str:
    """``1.2 GB`` and the like; powers of ten, as storage is sold and ``du --si`` counts."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5 or unit == "TB":  # noqa: PLR2004 (rounds to three digits)
            return f"{size:.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"  # noqa: PLR2004
        size /= 1000
    raise AssertionError(count)


_NUMBER = re.compile(r"[0-9][0-9,.]*%?( or [0-9,]+| [kMGT]?B)?")


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = []
    for at, cell in enumerate(row):
        remark = len(row) < len(widths) and at == len(row) - 1
        if remark:
            cells.append(cell)
        else:
            cells.append(cell.rjust(widths[at]) if numeric[at] else cell.ljust(widths[at]))
    return "  ".join(cells).rstrip()
