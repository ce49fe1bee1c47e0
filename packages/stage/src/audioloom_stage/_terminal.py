"""Who may write on stderr: log lines and a progress bar share it without tearing each other."""

import os
import sys
import threading

_lock = threading.RLock()
_bar = ""  # what stands on the last line of the terminal, or nothing


def write_line(text: str) -> None:
    """Write one line; a bar that is shown moves below it."""
    with _lock:
        _write(f"\r\x1b[K{text}\n{_bar}" if _bar else f"{text}\n")


def show_bar(text: str) -> None:
    """Draw the bar over the one before; an empty text takes it away."""
    global _bar  # noqa: PLW0603 - there is one terminal
    with _lock:
        if text or _bar:
            _write(f"\r\x1b[K{text}")
        _bar = text


def is_terminal() -> bool:
    """Tell whether stderr is read by a person."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def can_draw() -> bool:
    """Tell whether stderr understands how to take a line back."""
    return is_terminal() and os.environ.get("TERM", "dumb") != "dumb"


def _write(text: str) -> None:
    # Looked up at every line: tests and notebooks exchange it.
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
