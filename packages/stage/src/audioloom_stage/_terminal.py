"""Share stderr between log lines and a progress bar, so that neither tears the other."""

import os
import sys
import threading

_lock = threading.RLock()
_bar = ""  # the bar on the last line of the terminal, or nothing


def write_line(text: str) -> None:
    """Write one line; a bar that is shown moves below it."""
    with _lock:
        _write(f"\r\x1b[K{text}\n{_bar}" if _bar else f"{text}\n")


def show_bar(text: str) -> None:
    """Draw the bar over the previous one; an empty text removes it."""
    global _bar  # noqa: PLW0603 - there is one terminal
    with _lock:
        if text or _bar:
            _write(f"\r\x1b[K{text}")
        _bar = text


def is_terminal() -> bool:
    """Return whether a person reads stderr."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


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
