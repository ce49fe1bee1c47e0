"""`env list` and `env gc`: the archives of environments under a root, and who uses them."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from audioloom_runs.garbage import collect_garbage
from audioloom_runs.run_list import date_text, open_root
from audioloom_runs.settings import GcSettings, ListSettings
from audioloom_runs.tables import size_text, table
from audioloom_stage.result import JSON, Result, result_columns
from audioloom_storage import Location, NotAFolder, NotFound, remove

from audioloom_yarn_launcher.runs.archive_usage import Archive, Use, find_archives, find_uses
from audioloom_yarn_launcher.settings import PROGRAM

_COLUMNS = ("bytes", "changed", "read by", "runs", "at work", "archive")


def list_environments(settings: ListSettings) -> Result:
    """List the archives, one a line."""
    root = open_root(settings)
    uses = find_uses(root)
    found = [(archive, _users(archive, uses)) for archive in find_archives(root)]
    text = f"no environments under {root}"
    if found:
        rows = [_row(archive, users) for archive, users in found]
        text = table(_COLUMNS, rows, columns=result_columns())
    data: list[JSON] = [_data(archive, users) for archive, users in found]
    return Result(text, {"root": str(root), "environments": data})


def _users(archive: Archive, uses: list[Use]) -> list[Use]:
    return [use for use in uses if use.archives and archive.location.name in use.archives]


def _row(archive: Archive, users: list[Use]) -> tuple[str, ...]:
    return (
        size_text(archive.size),
        date_text(archive.modified_ns)[:16].replace("T", " "),
        _readers(archive),
        str(len(users)),
        str(sum(use.at_work for use in users)),
        str(archive.location),
    )


def _data(archive: Archive, users: list[Use]) -> dict[str, JSON]:
    return {
        "location": str(archive.location),
        "changed": date_text(archive.modified_ns),
        "bytes": archive.size,
        "read_by": _readers(archive),
        "runs": [str(use.run) for use in users],
        "at_work": [str(use.run) for use in users if use.at_work],
    }


def _readers(archive: Archive) -> str:
    if archive.shared:
        return "everybody"
    return "me" if archive.mine else "others"


def env_gc(settings: GcSettings) -> Result:
    """Find the user's archives that no run needs, and remove them with --delete.

    What a run uses that is at work, or whose records are younger than --older-than, stays; so does
    an archive that is younger, is another user's, or may be read by others.
    """
    return collect_garbage(f"{PROGRAM} env gc", settings, _find, remove=_remove)


def _find(root: Location, older_than: float) -> Iterator[Archive]:
    before = time.time_ns() - int(older_than * 1e9)
    return unneeded(find_archives(root), find_uses(root), before)


def unneeded(archives: list[Archive], uses: list[Use], before_ns: int) -> Iterator[Archive]:
    """Select the old archives of this user that no run needs, of those at work or changed since."""
    living = [use for use in uses if use.at_work or use.last_ns > before_ns]
    for archive in archives:
        needed = any(use.needs(archive.location.name) for use in living)
        if archive.mine and archive.modified_ns <= before_ns and not needed:
            yield archive


def _remove(root: Location, found: Iterable[Archive]) -> Iterator[Archive]:
    for archive in found:
        with suppress(NotFound, NotAFolder):  # another gc was quicker, or a link lies there now
            remove(archive.location, within=root)
            yield archive
