"""`env list` and `env gc`: the archives of environments under a root, and the runs that use them.

A run uses the archives that its records name. They are compared by file name, which is a digest,
because one location may have several addresses.
"""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import audioloom_storage as storage
from audioloom_manifest.layout import FOLDERS
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.run_list import date_text, open_root
from audioloom_runs.settings import GcSettings, ListSettings
from audioloom_runs.tables import size_text, table
from audioloom_stage.result import JSON, Result, result_columns
from audioloom_storage import Location, NotFound, PermissionDenied

from audioloom_yarn_launcher.runs.application import find_pending
from audioloom_yarn_launcher.runs.attempts import read_attempts
from audioloom_yarn_launcher.runs.layout import entries
from audioloom_yarn_launcher.runs.process_identity import is_alive
from audioloom_yarn_launcher.runs.submissions import read_submissions
from audioloom_yarn_launcher.settings import PROGRAM
from audioloom_yarn_launcher.yarn.localization import FOLDER, PACKED_BY_US

_COLUMNS = ("bytes", "changed", "read by", "runs", "at work", "archive")
# Other stages put Spark's jars there; only their unfinished archives are removed here.
_JARS = re.compile(r"spark-jars-[0-9a-f]{16}(?:\.[0-9]+)?\.tar")


@dataclass(frozen=True)
class Archive:
    """An archive of this program, complete or unfinished.

    Args:
        shared: everybody may read it.
        mine: only this user may, and no link leads to it.
    """

    location: Location
    size: int
    modified_ns: int
    shared: bool
    mine: bool


@dataclass(frozen=True)
class Use:
    """The archives that a run uses.

    Args:
        archives: names of the files; None for a run whose older records do not name them.
        at_work: it runs or waits to begin, or its state is unknown.
        last_ns: time of its newest record, by the clock of the storage.
    """

    run: Location
    archives: frozenset[str] | None
    at_work: bool
    last_ns: int


def find_archives(root: Location) -> list[Archive]:
    """Find this program's archives under a root, sorted by name; other files are ignored."""
    found = []
    folder = root / FOLDER
    linked = storage.exists(folder) and storage.stat(folder).is_link
    for entry in entries(folder):
        name = storage.finished_path(entry.location.name)
        jars = name != entry.location.name and _JARS.fullmatch(name)
        if entry.is_folder or not (jars or PACKED_BY_US.fullmatch(name)):
            continue
        try:
            shared = storage.is_shared(entry.location)
            mine = (
                not linked and storage.is_private(entry.location) and storage.is_own(entry.location)
            )
        except NotFound:  # it was removed, or renamed to its final name
            continue
        found.append(Archive(entry.location, entry.size, entry.modified_ns, shared, mine))
    return found


def find_uses(root: Location) -> list[Use]:
    """Find the archives that each cluster run under a root uses; BadRecord if one is unknown.

    A run whose records are for another user alone is left out: that user has archives of their own.
    """
    found = []
    for entry in entries(root / FOLDERS["training-run"]):
        try:
            use = _use(entry.location)
        except PermissionDenied:
            if storage.is_own(entry.location):
                raise
            continue
        if use is not None:
            found.append(use)
    return found


def _use(folder: Location) -> Use | None:
    attempts = read_attempts(folder)
    submissions = read_submissions(folder, ())
    given = [each.started.localization for each in attempts if each.started.on != "local"]
    given += [each.localization for each in submissions]
    if not given:
        return None
    pending, last = find_pending(folder, attempts), attempts[-1] if attempts else None
    runs = last is not None and last.open and is_alive(last.started.owner) is not False
    known = [each for each in given if each is not None]
    names = frozenset(uri.rpartition("/")[2] for each in known for uri in each.archives)
    written = [*entries(folder / "attempts"), *entries(folder / "submissions")]
    return Use(
        run=folder,
        archives=names if len(known) == len(given) else None,
        at_work=runs or (pending is not None and pending.waits is not False),
        last_ns=max((each.modified_ns for each in written), default=0),
    )


def list_environments(settings: ListSettings) -> Result:
    """List the archives, one a line."""
    root = open_root(settings)
    uses = find_uses(root)
    found = [
        (archive, [use for use in uses if use.archives and archive.location.name in use.archives])
        for archive in find_archives(root)
    ]
    text = f"no environments under {root}"
    if found:
        rows = [_row(archive, users) for archive, users in found]
        text = table(_COLUMNS, rows, columns=result_columns())
    data: list[JSON] = [_data(archive, users) for archive, users in found]
    return Result(text, {"root": str(root), "environments": data})


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
        name = archive.location.name
        needed = any(use.archives is None or name in use.archives for use in living)
        if archive.mine and archive.modified_ns <= before_ns and not needed:
            yield archive


def _remove(root: Location, found: Iterable[Archive]) -> Iterator[Archive]:
    for archive in found:
        with suppress(
            NotFound, storage.NotAFolder
        ):  # another gc was quicker, or a link lies there now
            storage.remove(archive.location, within=root)
            yield archive
