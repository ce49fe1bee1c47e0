"""`env gc`: the archives of environments that no run under the root needs any more."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage import Result
from audioloom_storage import Location, NotAFolder, NotFound, remove

from audioloom_yarn_launcher.coordinator.report import PROGRAM
from audioloom_yarn_launcher.runs.archive_usage import Archive, Use, find_archives, find_uses


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
