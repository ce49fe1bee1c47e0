"""The names of the logs in a run folder."""

from audioloom_storage import Location


def log_name(folder: Location, rank: int, attempt: int) -> str:
    """What a log is called, relative to the run folder; a pattern where it lies there in pieces."""
    return f"logs/{rank}.{attempt}{'' if appends(folder) else '.*'}.log"


def appends(storage: Location) -> bool:
    """Whether a process can append to a file there; elsewhere files are published whole."""
    return storage.scheme == "file"
