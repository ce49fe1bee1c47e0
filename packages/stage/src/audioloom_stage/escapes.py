"""Make text from outside safe to show: no terminal obeys it, and its secrets are masked."""

import json

from audioloom_stage.redaction import redact


def printable(text: str, *, lines: bool = False) -> str:
    r"""Escape all invisible characters of a text in ASCII: `\x1b`, `\u202e`, `\udcff`.

    Labels, paths, messages and logs come from outside. Terminal controls, changes of reading
    direction, line ends and invalid characters are escaped; *lines* keeps line feeds and tabs.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else _escaped(c) for c in text)


def printable_json(text: str) -> str:
    r"""Return JSON on one line with all that `printable` would escape as `\u202e`: equal values.

    JSON by itself escapes C0 alone; a terminal obeys C1 too (`\u009b31m`).
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def safe_text(text: object, *, lines: bool = False) -> str:
    """Make a text from outside printable and mask its secrets."""
    return printable(redact(str(text)), lines=lines)


def shortened(text: str, limit: int) -> str:
    """Bound a text to a number of characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
