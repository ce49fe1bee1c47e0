"""The names of the logs in a run folder."""

from audioloom_storage import Location


def log_name(folder: Location, rank: int, attempt: int) -> str:
    """Return the name of a log relative to the run folder; a pattern where a log has pieces."""
    return f"logs/{rank}.{attempt}{'' if appends(folder) else '.*'}.log"


def appends(storage: Location) -> bool:
    """Return whether a process can append to a file there; other storage publishes whole files."""
    return storage.scheme == "file"
