"""The archives of environments under a root, and the runs that use them.

A run uses what its records name. They are compared by file name, which is a digest: one place may
be called by several addresses.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from audioloom_manifest import FOLDERS
from audioloom_storage import (
    Entry,
    Location,
    NotFound,
    exists,
    finished_path,
    is_own,
    is_private,
    is_shared,
    list_folder,
    stat,
)

from audioloom_yarn_launcher.runs.attempts import Attempt, read_attempts
from audioloom_yarn_launcher.runs.pending import find_pending
from audioloom_yarn_launcher.runs.process_identity import is_alive
from audioloom_yarn_launcher.runs.submissions import Localization, read_submissions
from audioloom_yarn_launcher.yarn.archive_check import PACKED_BY_US
from audioloom_yarn_launcher.yarn.localization import FOLDER

# Spark's jars, which other stages put there; here an unfinished archive of them goes, no other.
_JARS = re.compile(r"spark-jars-[0-9a-f]{16}(?:\.[0-9]+)?\.tar")


@dataclass(frozen=True)
class Archive:
    """An archive that this program has put there, or has begun to.

    Args:
        shared: everybody may read it.
        mine: nobody but this user may, and no link leads to it.
    """

    location: Location
    size: int
    modified_ns: int
    shared: bool
    mine: bool


@dataclass(frozen=True)
class Use:
    """What a run uses.

    Args:
        run: its folder.
        archives: names of the files; None if it does not say, as before records named them.
        at_work: it runs or waits to begin, or nobody can tell that it does not.
        last_ns: when the newest of its records was written, by the clock of the storage.
    """

    run: Location
    archives: frozenset[str] | None
    at_work: bool
    last_ns: int

    def needs(self, name: str) -> bool:
        """Whether it may need the archive of that name."""
        return self.archives is None or name in self.archives


def find_archives(root: Location) -> list[Archive]:
    """The archives under a root, sorted by name; nothing else that lies among them."""
    found = []
    folder = root / FOLDER
    linked = exists(folder) and stat(folder).is_link
    for entry in _listed(folder):
        if entry.is_folder or not _is_ours(entry.location.name):
            continue
        try:
            shared = is_shared(entry.location)
            mine = not linked and is_private(entry.location) and is_own(entry.location)
        except NotFound:  # it has been removed, or has its last name by now
            continue
        found.append(Archive(entry.location, entry.size, entry.modified_ns, shared, mine))
    return found


def _is_ours(name: str) -> bool:
    finished = finished_path(name)
    unfinished_jars = finished != name and _JARS.fullmatch(finished) is not None
    return unfinished_jars or PACKED_BY_US.fullmatch(finished) is not None


def find_uses(root: Location) -> list[Use]:
    """What the runs under a root use, those on clusters alone.

    Raises:
        BadRecord: a record cannot be read, so nobody knows what that run uses.
    """
    found = (_use(entry.location) for entry in _listed(root / FOLDERS["training-run"]))
    return [use for use in found if use is not None]


def _use(folder: Location) -> Use | None:
    attempts = read_attempts(folder)
    submissions = read_submissions(folder, ())
    given = [each.started.localization for each in attempts if each.started.on != "local"]
    given += [each.localization for each in submissions]
    if not given:
        return None
    pending = find_pending(folder, attempts)
    return Use(
        run=folder,
        archives=_names(given),
        at_work=_at_work(attempts) or (pending is not None and pending.waits is not False),
        last_ns=max(_written(folder), default=0),
    )


def _at_work(attempts: list[Attempt]) -> bool:
    if not attempts or not attempts[-1].open:
        return False
    return is_alive(attempts[-1].started.owner) is not False


def _names(provisions: list[Localization | None]) -> frozenset[str] | None:
    names: set[str] = set()
    for each in provisions:
        if each is None:
            return None
        names |= {uri.rpartition("/")[2] for uri in each.archives}
    return frozenset(names)


def _written(folder: Location) -> Iterator[int]:
    for records in ("attempts", "submissions"):
        for entry in _listed(folder / records):
            yield entry.modified_ns


def _listed(folder: Location) -> Iterator[Entry]:
    try:
        yield from list_folder(folder)
    except NotFound:
        return
