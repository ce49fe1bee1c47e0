"""The names of the logs in a run folder, and the format of its times."""

from datetime import UTC, datetime

from audioloom_storage import Location


def log_name(folder: Location, rank: int, attempt: int) -> str:
    """Return the name of a log relative to the run folder; a pattern where a log has pieces."""
    return f"logs/{rank}.{attempt}{'' if appends(folder) else '.*'}.log"


def appends(storage: Location) -> bool:
    """Return whether a process can append to a file there; other storage publishes whole files."""
    return storage.scheme == "file"


def now() -> str:
    """Return the time in RFC 3339; no decision depends on it, because clocks differ."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
