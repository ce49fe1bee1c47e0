"""Text for people: stderr is shared by log lines and a bar or page below them, and none is torn."""

import os
import sys
import threading
from typing import Any

DIM, RED, GREEN, YELLOW = "2", "31", "32", "33"
"""Colours of `coloured`, as terminals number them."""

_lock = threading.RLock()
_bar = ""  # on the last lines of the terminal, or nothing


def write_line(text: str) -> None:
    """Write one line; a bar that is shown moves below it."""
    with _lock:
        _write(f"{_removal()}{text}\n{_bar}" if _bar else f"{text}\n")


def show_bar(text: str) -> None:
    """Draw the bar, of one line or several, over the previous one; an empty text removes it."""
    global _bar  # noqa: PLW0603 - there is one terminal
    with _lock:
        if text != _bar:
            _write(f"{_removal()}{text}")
        _bar = text


def _removal() -> str:
    """Return what moves the cursor to the first line of the bar and clears the rest."""
    above = _bar.count("\n")
    return f"\x1b[{above}A\r\x1b[J" if above else "\r\x1b[K"


def counted(count: int, nouns: str) -> str:
    """Format a number of things: "1 file", "1,234 files". *nouns* is a plural in s."""
    return f"{count:,} {nouns.removesuffix('s') if count == 1 else nouns}"


def is_terminal() -> bool:
    """Return whether a person reads stderr."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def descriptor_of(stream: Any) -> int | None:
    """Return the descriptor that a stream writes to; None if it is closed or has none."""
    try:
        return int(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def coloured(text: str, colour: str) -> str:
    """Colour a text for a terminal by one of `DIM`, `RED`, …, unless NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def can_draw() -> bool:
    """Return whether the terminal on stderr can overwrite a line."""
    return is_terminal() and os.environ.get("TERM", "dumb") != "dumb"


def _write(text: str) -> None:
    # Looked up at every line, because tests and notebooks replace it.
    stream = sys.stderr
    if stream is None:
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        stream.flush()
    except (OSError, ValueError):
        # Nobody reads stderr any more; the work goes on, and its result says how it ended.
        return
