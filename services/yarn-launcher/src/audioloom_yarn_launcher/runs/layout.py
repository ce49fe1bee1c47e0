"""The entries of a run folder, the names of its logs, and the format of its times."""

import re
from datetime import UTC, datetime

from audioloom_storage import Entry, Location, NotFound, list_folder

_LOG = re.compile(r"([0-9]+)(?:\.([0-9]+)-([0-9]+))?\.log")


def entries(folder: Location) -> list[Entry]:
    """The entries of a folder; none if it does not exist."""
    try:
        return list(list_folder(folder))
    except NotFound:
        return []


def log_folder(run: Location, rank: int) -> Location:
    """Return the folder for the logs of a rank."""
    return run / f"logs/{rank}"


def log_name(folder: Location, rank: int, attempt: int) -> str:
    """Return the name of a log relative to the run folder; a pattern where a log has pieces."""
    return f"logs/{rank}/{attempt}{'' if appends(folder) else '.*'}.log"


def log_piece(attempt: int, span: tuple[int, int]) -> str:
    """Return the name of a piece of a log by its first byte and its end; names sort as pieces."""
    return f"{attempt}.{span[0]:012}-{span[1]:012}.log"


def log_span(entry: Entry, attempt: int) -> tuple[int, int] | None:
    """Return which bytes of the log of an attempt a file holds; None if it is another file."""
    match = _LOG.fullmatch(entry.location.name)
    if match is None or int(match[1]) != attempt:
        return None
    begin = int(match[2] or 0)
    return begin, begin + entry.size


def appends(storage: Location) -> bool:
    """Return whether a process can append to a file there; other storage publishes whole files."""
    return storage.scheme == "file"


def now() -> str:
    """Return the time in RFC 3339; no decision depends on it, because clocks differ."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
