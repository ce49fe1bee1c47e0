"""Tell a person, or a collector of logs, why a run failed: in the form of every stage's errors."""

from __future__ import annotations

import sys

import structlog
from audioloom_stage import current_logs
from audioloom_storage import Location

from audioloom_yarn_launcher.causes import Cause

PROGRAM = "audioloom-yarn-launcher"
MOST_LINES = 20

log = structlog.get_logger()


def tell_failure(folder: Location, cause: Cause, attempt: int) -> None:
    """Say on stderr what the first cause was, and the last lines of its process."""
    where = folder if cause.rank is None else folder / f"logs/{cause.rank}.{attempt}.log"
    look = f"{PROGRAM} status {folder}"
    lines = cause.tail.splitlines()[-MOST_LINES:]
    if current_logs().as_json:
        log.error(
            cause.text,
            exit_code=cause.exit_code,
            where=str(where),
            output=lines,
            **{"try": look},
        )
        return
    told = [f"error: {printable(cause.text)}", f"  where  {printable(str(where))}"]
    if lines:
        told += ["  found  its last words:", *(f"         | {printable(line)}" for line in lines)]
    sys.stderr.write("\n".join([*told, f"  try    {printable(look)}", ""]))
    sys.stderr.flush()


def printable(text: str) -> str:
    """What a terminal would obey is escaped: logs and records are data from outside."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
