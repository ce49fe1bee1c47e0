"""The archives of environments under a root, and the runs that use them.

A run uses the archives that its records name. They are compared by file name, which is a digest,
because one location may have several addresses.
"""

import re
from dataclasses import dataclass

from audioloom_manifest.layout import FOLDERS
from audioloom_storage import (
    Location,
    NotFound,
    exists,
    finished_path,
    is_own,
    is_private,
    is_shared,
    stat,
)

from audioloom_yarn_launcher.runs.attempts import read_attempts
from audioloom_yarn_launcher.runs.layout import entries
from audioloom_yarn_launcher.runs.pending_application import find_pending
from audioloom_yarn_launcher.runs.process_identity import is_alive
from audioloom_yarn_launcher.runs.submissions import read_submissions
from audioloom_yarn_launcher.yarn.archive_check import PACKED_BY_US
from audioloom_yarn_launcher.yarn.localization import FOLDER

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

    def needs(self, name: str) -> bool:
        """Return whether the run may need the archive of that name."""
        return self.archives is None or name in self.archives


def find_archives(root: Location) -> list[Archive]:
    """Find this program's archives under a root, sorted by name; other files are ignored."""
    found = []
    folder = root / FOLDER
    linked = exists(folder) and stat(folder).is_link
    for entry in entries(folder):
        name = finished_path(entry.location.name)
        jars = name != entry.location.name and _JARS.fullmatch(name)
        if entry.is_folder or not (jars or PACKED_BY_US.fullmatch(name)):
            continue
        try:
            shared = is_shared(entry.location)
            mine = not linked and is_private(entry.location) and is_own(entry.location)
        except NotFound:  # it was removed, or renamed to its final name
            continue
        found.append(Archive(entry.location, entry.size, entry.modified_ns, shared, mine))
    return found


def find_uses(root: Location) -> list[Use]:
    """Find the archives that each cluster run under a root uses; BadRecord if one is unknown."""
    found = (_use(entry.location) for entry in entries(root / FOLDERS["training-run"]))
    return [use for use in found if use is not None]


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
