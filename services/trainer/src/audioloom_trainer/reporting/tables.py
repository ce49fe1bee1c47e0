"""Plain text tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from audioloom_stage import printable


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need, numbers to the right, everything else to the left."""
    whole = (head, *(list(row) + [""] * (len(head) - len(row)) for row in rows))
    lines = [[printable(cell) for cell in line] for line in whole]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    right = [
        bool(rows) and all(_is_number(line[column]) for line in lines[1:])
        for column in range(len(head))
    ]
    return "\n".join(
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "") or "0")
    except ValueError:
        return False
    return True
