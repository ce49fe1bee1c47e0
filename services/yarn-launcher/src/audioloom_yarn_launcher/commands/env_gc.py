"""`env gc`: the archives of environments that no run under the root needs any more."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import suppress

from audioloom_stage import InputMissing, Result
from audioloom_storage import NotAFolder, NotFound, exists, locate, remove

from audioloom_yarn_launcher.coordinator.report import PROGRAM
from audioloom_yarn_launcher.runs.archive_usage import Archive, Use, find_archives, find_uses
from audioloom_yarn_launcher.settings import EnvSettings


def collect_garbage(settings: EnvSettings) -> Result:
    """Find, and with --delete remove, what this user has put there and no run needs.

    What a run uses that is at work, or whose records are younger than --older-than-hours, stays; so
    does an archive that is younger, is another user's, or may be read by others.
    """
    root = locate(settings.root)
    if not exists(root):
        raise InputMissing(expected="a root folder", found="nothing", where=root)
    before = time.time_ns() - int(settings.older_than_hours * 3600 * 1e9)
    found = [
        archive
        for archive in unneeded(find_archives(root), find_uses(root), before)
        if not settings.delete or _removed(archive)
    ]
    size = sum(archive.size for archive in found)
    verb = "removed" if settings.delete else "would remove"
    again = [PROGRAM, "env", "gc", "--root", str(root), "--delete"]
    if settings.older_than_hours != EnvSettings.model_fields["older_than_hours"].default:
        again += ["--older-than-hours", f"{settings.older_than_hours:g}"]
    lines = [str(archive.location) for archive in found]
    return Result(
        text=[*lines, f"{verb} {len(found):,} archives, {size:,} bytes"],
        data={
            "deleted": settings.delete,
            "environments": [archive.location.uri for archive in found],
            "bytes": size,
        },
        next=() if settings.delete or not found else (shlex.join(again),),
    )


def unneeded(archives: list[Archive], uses: list[Use], before_ns: int) -> Iterator[Archive]:
    """The archives that may go.

    Args:
        archives: all there are.
        uses: of all runs.
        before_ns: what changed later is left alone, and so is what a run uses that did.
    """
    living = [use for use in uses if use.at_work or use.last_ns > before_ns]
    for archive in archives:
        needed = any(use.needs(archive.location.name) for use in living)
        if archive.mine and archive.modified_ns <= before_ns and not needed:
            yield archive


def _removed(archive: Archive) -> bool:
    with suppress(NotFound, NotAFolder):  # another gc was quicker, or a link lies there now
        remove(archive.location, within=archive.location.parent.parent)
        return True
    return False
