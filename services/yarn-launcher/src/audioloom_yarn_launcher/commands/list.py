"""`list`: the runs under a root, and the state of each."""

from audioloom_manifest.layout import FOLDERS
from audioloom_runs.run_list import Row, last_change, open_root, show_runs
from audioloom_runs.run_times import seconds_in
from audioloom_runs.settings import ListSettings
from audioloom_stage.result import Result
from audioloom_storage import Location, PermissionDenied

from audioloom_yarn_launcher.errors import BadRecord, NoRun
from audioloom_yarn_launcher.monitoring.run_status import read_run_status
from audioloom_yarn_launcher.runs.layout import entries

_COLUMNS = ("name", "state", "changed", "seconds", "bytes", "attempts", "workers", "on")


def list_runs(settings: ListSettings) -> Result:
    """List runs with their state, attempts and workers."""
    root = open_root(settings)
    folders = [each.location for each in entries(root / FOLDERS["training-run"]) if each.is_folder]
    return show_runs(root, [_row(root, each) for each in folders], _COLUMNS)


def _row(root: Location, folder: Location) -> Row:
    row: Row = {"kind": "training-run", "name": folder.name, "location": str(folder)}
    row |= {"changed": None, "seconds": None, "bytes": None}
    try:
        row |= last_change(root, folder)
        view = read_run_status(folder)
        seconds = seconds_in(folder)
    except NoRun:  # a run of the trainer alone, which is not committed
        return {**row, "state": "unfinished"}
    except (BadRecord, PermissionDenied) as error:  # the records of a run are its owner's alone
        return {**row, "state": "unreadable", "detail": str(error)}
    row |= {"state": view.state, "seconds": seconds, "attempts": len(view.attempts)}
    if view.last is not None:
        row |= {"workers": len(view.last.workers), "on": view.last.started.on}
    return row
