"""How far the workers came of a gang that was not complete in time, as a table for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from audioloom_stage import safe_text
from audioloom_storage import Location

from audioloom_yarn_launcher.monitoring.tables import table
from audioloom_yarn_launcher.rendezvous.arrivals import Arrival
from audioloom_yarn_launcher.runs.attempts import Attempt, read_attempts

_COLUMNS = ("worker", "rank", "state", "host", "for", "what is known")
MOST_TAILS, MOST_LINES = 3, 10


def rendezvous_table(rows: Sequence[Arrival], columns: int | None = None) -> list[str]:
    """One line a worker, below a heading, and what the first silent ones said last.

    Args:
        rows: none if the gang was complete, and then there are no lines.
        columns: of the terminal, None for any.
    """
    if not rows:
        return []
    lines = table([_COLUMNS, *(_row(each) for each in rows)], columns)
    for each in [row for row in rows if row.tail][:MOST_TAILS]:
        lines.append(f"{each.worker} said last:")
        lines += [f"  | {safe_text(line)}" for line in each.tail.splitlines()[-MOST_LINES:]]
    return lines


def arrivals_of(attempt: Attempt | None) -> tuple[Arrival, ...]:
    """What is on record of how far the workers of an attempt came."""
    return attempt.ended.arrivals if attempt is not None and attempt.ended is not None else ()


def tell_rendezvous(folder: Location, number: int) -> None:
    """Write the table of an attempt to stderr, if its gang was not complete in time."""
    (attempt,) = [each for each in read_attempts(folder) if each.started.attempt == number]
    for line in rendezvous_table(arrivals_of(attempt)):
        sys.stderr.write(f"{line}\n")


def _row(each: Arrival) -> tuple[str, ...]:
    cells = (
        each.worker,
        each.rank,
        each.state,
        each.host,
        None if each.since_s is None else f"{each.since_s:.0f} s",
        each.reason or each.address,
    )
    return tuple("-" if cell in (None, "") else safe_text(cell) for cell in cells)
