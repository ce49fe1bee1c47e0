"""The tables of a run: its workers, and their arrivals if the gang was not complete in time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from audioloom_runs.tables import table
from audioloom_stage.escapes import safe_text
from rich.filesize import pick_unit_and_suffix

from audioloom_yarn_launcher.monitoring.run_status import WorkerStatus
from audioloom_yarn_launcher.rendezvous.backend import Arrival
from audioloom_yarn_launcher.rendezvous.roles import WORKER
from audioloom_yarn_launcher.runs.attempts import Attempt

_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]
_ROUND = 100
_ALWAYS = ("rank", "state", "host", "attempts", "step", "loss", "log")
_SPARE = ("pid", "log", "attempts", "exit", "gpu", "role", "host")
"""The first columns to leave out on a narrow terminal."""
_ARRIVAL_COLUMNS = ("worker", "rank", "state", "host", "for", "what is known")
MOST_TAILS, MOST_LINES = 3, 10


def worker_table(
    workers: Sequence[WorkerStatus], columns: int | None = None, *, over: bool
) -> list[str]:
    """Make a heading and one line for each worker; no lines without workers.

    The columns fit the terminal. Of a run that is over, the highest memory is shown.
    """
    if not workers:
        return []
    cells = {name: [of(each, over) for each in workers] for name, of in _COLUMNS.items()}
    shown = {
        name: [name, *(safe_text(cell) or "-" for cell in column)]
        for name, column in cells.items()
        if name in _ALWAYS or any(column)
    }
    if {each.role for each in workers} == {WORKER}:
        del shown["role"]
    for name in _SPARE:
        width = sum(max(map(len, column)) + 2 for column in shown.values()) - 2
        if columns is None or width <= columns:
            break
        shown.pop(name, None)
    head, *rows = zip(*shown.values(), strict=True)
    return table(head, rows).splitlines()


def arrivals_table(rows: Sequence[Arrival], columns: int | None = None) -> list[str]:
    """Make a heading, one line for each worker, and the last output of the first silent workers."""
    if not rows:
        return []
    facts = (
        (
            each.worker,
            each.rank,
            each.state,
            each.host,
            None if each.since_s is None else f"{each.since_s:.0f} s",
            each.reason or each.address,
        )
        for each in rows
    )
    cells = [["-" if cell in (None, "") else str(cell) for cell in row] for row in facts]
    lines = table(_ARRIVAL_COLUMNS, cells, columns=columns).splitlines()
    for each in [row for row in rows if row.tail][:MOST_TAILS]:
        lines.append(f"{each.worker} wrote last:")
        lines += [f"  | {safe_text(line)}" for line in each.tail.splitlines()[-MOST_LINES:]]
    return lines


def arrivals_of(attempt: Attempt | None) -> tuple[Arrival, ...]:
    """The recorded arrivals of an attempt."""
    return attempt.ended.arrivals if attempt is not None and attempt.ended is not None else ()


def size_text(size: float) -> str:
    """Write a number of bytes with a unit, such as `12.1 GiB`."""
    unit, suffix = pick_unit_and_suffix(int(size), _UNITS, 1024)
    value = size / unit
    return f"{value:.0f} {suffix}" if value >= _ROUND or unit == 1 else f"{value:.1f} {suffix}"


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _step(worker: WorkerStatus) -> str:
    step, steps = worker.progress.get("step"), worker.progress.get("steps")
    return _text(step) + (f"/{steps}" if step is not None and steps is not None else "")


def _rate(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else ""


def _share(value: object) -> str:
    return f"{value:.0%}" if isinstance(value, int | float) else ""


def _memory(usage: Mapping[str, Any], which: str) -> str:
    taken = usage.get(which)
    limit = usage.get("memory_limit_bytes")
    if not isinstance(taken, int) or not taken:
        return ""
    return size_text(taken) + (f" of {size_text(limit)}" if isinstance(limit, int) else "")


def _gpu(usage: Mapping[str, Any]) -> str:
    gpus = usage.get("gpus")
    known = [each for each in gpus if isinstance(each, dict)] if isinstance(gpus, list) else []
    return ", ".join(
        f"{_share(gpu.get('busy'))} {size_text(gpu['memory_bytes'])}".strip()
        for gpu in known
        if isinstance(gpu.get("memory_bytes"), int)
    )


_COLUMNS: dict[str, Callable[[WorkerStatus, bool], str]] = {
    "rank": lambda worker, _: str(worker.rank),
    "role": lambda worker, _: worker.role,
    "state": lambda worker, _: worker.state,
    "host": lambda worker, _: worker.host,
    "pid": lambda worker, _: _text(worker.pid),
    "attempts": lambda worker, _: str(worker.attempts),
    "exit": lambda worker, _: worker.exit,
    "step": lambda worker, _: _step(worker),
    "loss": lambda worker, _: _text(worker.progress.get("loss")),
    "steps/s": lambda worker, _: _rate(worker.progress.get("steps_per_second")),
    "wait": lambda worker, _: _share(worker.progress.get("input_wait")),
    "memory": lambda worker, over: _memory(
        worker.usage, "peak_memory_bytes" if over else "memory_bytes"
    ),
    "gpu": lambda worker, over: "" if over else _gpu(worker.usage),
    "log": lambda worker, _: "" if worker.log is None else f"logs/{worker.rank}/{worker.log.name}",
}
