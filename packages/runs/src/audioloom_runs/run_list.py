"""`list`: the runs under a root in every state."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias

from audioloom_manifest.envelope import Kind
from audioloom_manifest.errors import ManifestError
from audioloom_manifest.reader import Opened, list_manifests
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import JSON, Result, result_columns
from audioloom_storage import Location, NotFound, PermissionDenied, exists, locate, walk

from audioloom_runs.attempts import seconds_of
from audioloom_runs.settings import ListSettings, RootSettings
from audioloom_runs.tables import duration_text, size_text, table

Row: TypeAlias = "dict[str, JSON]"

_COMMON = ("name", "state", "changed", "seconds", "bytes")
_LATEST = 253_402_300_799
"""The last second of year 9999; whoever may write a file may give it a later time."""


def open_root(settings: RootSettings) -> Location:
    """Locate the root.

    Raises:
        InputMissing: the root does not exist. An empty root is no mistake.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    return root


def list_runs(
    settings: ListSettings,
    kinds: Sequence[Kind],
    *,
    columns: Sequence[str],
    committed: Callable[[Opened[Any]], Mapping[str, JSON]],
    uncommitted: Callable[[Location], Mapping[str, JSON]] = lambda _: {},
) -> Result:
    """List the run folders of some kinds, one line each.

    Args:
        settings: they name the root.
        kinds: those that the stage makes.
        columns: further columns after the common ones; `detail`, which says what is
            wrong with a run, comes last.
        committed: returns more of a committed run: these columns and others, for programs.
        uncommitted: returns more of a folder without a manifest, above all its `state`: running,
            failed or killed, as far as the stage knows; otherwise it is unfinished.

    Raises:
        InputMissing: there is no such root.
    """
    root = open_root(settings)
    runs: list[Row] = []
    for kind in kinds:
        for folder, found in list_manifests(root, kind):
            try:
                row = run_row(root, kind, folder, found)
                if found is None:
                    row |= uncommitted(folder)
                elif row["state"] == "committed" and isinstance(found, Opened):
                    row |= committed(found)
            except PermissionDenied as error:  # the records of a launched run are its owner's alone
                row = {"kind": kind, "name": folder.name, "location": str(folder)}
                row |= {"state": "unreadable", "detail": str(error)}
            runs.append(row)
    return show_runs(root, runs, (*(("kind",) if len(kinds) > 1 else ()), *_COMMON, *columns))


def run_row(
    root: Location, kind: Kind, folder: Location, found: Opened[Any] | ManifestError | None
) -> Row:
    """Return the row of a run folder: its state, date, seconds, size, and what is wrong with it.

    Args:
        root: the root that the folder lies under.
        kind: that of the folder.
        folder: the folder of the run.
        found: its manifest, what is wrong with the manifest, or None if there is none.
    """
    row: Row = {"kind": kind, "name": folder.name, "location": str(folder)}
    if isinstance(found, Opened) and found.manifest.kind == kind:
        created = found.manifest.created.replace(microsecond=0).isoformat()
        size = sum(entry.bytes for entry in found.entries)
        row |= {"state": "committed", "changed": created, "bytes": size}
        return {**row, "seconds": seconds_of(found.manifest.execution)}
    row |= last_change(root, folder)
    if found is None:
        return {**row, "state": "unfinished"}
    if isinstance(found, ManifestError):
        wrong = f"expected {found.expected}, found {found.found}"
    else:
        wrong = f"expected a {kind} manifest, found a {found.manifest.kind} manifest"
    return {**row, "state": "unreadable", "detail": wrong}


def show_runs(root: Location, runs: Sequence[Row], columns: Sequence[str]) -> Result:
    """Show rows of runs that are made already, the newest last, where a terminal shows them.

    The last column says what is wrong with a run.
    """
    runs = sorted(runs, key=lambda row: str(row.get("changed") or ""))
    head = [*columns, "detail"]
    rows = [[_cell(column, row.get(column)) for column in head] for row in runs]
    shown = [at for at, column in enumerate(head) if any(row[at] for row in rows)]
    text = f"no runs under {root}"
    if runs:
        cells = [[row[at] for at in shown] for row in rows]
        names = ["duration" if head[at] == "seconds" else head[at] for at in shown]
        text = table(names, cells, columns=result_columns())
    return Result(text, {"root": str(root), "runs": [*runs]})


def last_change(root: Location, folder: Location) -> Row:
    """Return when a folder without a manifest last changed, and its size; it has no duration."""
    newest = size = 0
    with suppress(NotFound):  # the file was removed a moment ago
        for entry in walk(folder, within=root, links=False):
            newest, size = max(newest, entry.modified_ns), size + entry.size
    return {"changed": date_text(newest) if newest else None, "seconds": None, "bytes": size}


def date_text(modified_ns: int) -> str:
    """Return a time as JSON and tables show it, in UTC and whole seconds."""
    return datetime.fromtimestamp(min(modified_ns // 10**9, _LATEST), UTC).isoformat()


def _cell(column: str, value: JSON) -> str:
    match value:
        case None:
            text = ""
        case int() | float() if column == "seconds":
            text = duration_text(value)
        case int() if column == "bytes":
            text = size_text(value)
        case str():
            text = value[:16].replace("T", " ") if column == "changed" else value
        case Mapping():
            text = " ".join(f"{key}={_cell(key, one)}" for key, one in value.items())
        case Sequence():
            text = " ".join(_cell(column, one) for one in value)
        case _:
            text = f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    return text
