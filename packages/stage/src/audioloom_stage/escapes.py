"""Text from outside as it may be shown: nothing in it is obeyed by a terminal, or secret."""

import json

from audioloom_stage.redaction import redact


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with all that cannot be seen told in ASCII: `\x1b`, `\u202e`, `\udcff`.

    Labels, paths, messages and logs come from outside. What a terminal would obey, what turns the
    direction of reading, what ends a line, and what is no character are all escaped.

    Args:
        text: of any origin.
        lines: it may have several lines: line feeds and tabs stay.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else _escaped(c) for c in text)


def printable_json(text: str) -> str:
    r"""JSON on one line with all that `printable` would escape told as `\u202e`: the same values.

    Of itself, JSON escapes C0 alone; a terminal obeys C1 too (`\u009b31m`).
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def safe_text(text: object, *, lines: bool = False) -> str:
    """What is printed of a text from outside: printable, and with its secrets masked."""
    return printable(redact(str(text)), lines=lines)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
