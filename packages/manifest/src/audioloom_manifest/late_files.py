"""Files that appear late: a network file system may show a manifest before what it names."""

import math
import os
import time
from collections.abc import Iterable

from audioloom_storage import Entry, Location, NotConfigured, NotFound, exists, stat

from audioloom_manifest.errors import MissingFile

VARIABLE = "AUDIOLOOM_LATE_FILES_SECONDS"
DEFAULT_SECONDS = 10.0
_LOOK_EVERY_SECONDS = 0.25
_MOST_LISTED = 20


class Patience:
    """For how long files that a manifest names are waited for: together, from the first one on.

    By default for what the variable AUDIOLOOM_LATE_FILES_SECONDS says, or 10 seconds.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = _seconds() if seconds is None else seconds
        self._until: float | None = None

    def stat(self, location: Location) -> Entry:
        """What lies there, as soon as something does.

        Raises:
            MissingFile: nothing did in time.
        """
        while True:
            try:
                return stat(location)
            except NotFound as error:
                if not self._more():
                    raise missing([location]) from error

    def wait_for(self, locations: Iterable[Location]) -> None:
        """Wait until all are there.

        Raises:
            MissingFile: naming those that were not in time.
        """
        gone = list(locations)
        while gone := [location for location in gone if not exists(location)]:
            if not self._more():
                raise missing(gone)

    def _more(self) -> bool:
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._seconds
        left = self._until - now
        if left <= 0:
            return False
        time.sleep(min(left, _LOOK_EVERY_SECONDS))
        return True


def missing(locations: list[Location]) -> MissingFile:
    """The error that names files which a manifest names and which are not there."""
    more = len(locations) - _MOST_LISTED
    what = "a file that the manifest names" if len(locations) == 1 else "files that manifests name"
    listed = ", ".join(map(str, locations[:_MOST_LISTED]))
    return MissingFile(
        where=listed + (f" and {more} more" if more > 0 else ""),
        expected=what,
        found="nothing",
        hint="Copy the whole folder, or rerun the stage that wrote it. Files that only appear late"
        f" are waited for as long as {VARIABLE} says.",
    )


def _seconds() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text) if text else DEFAULT_SECONDS
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise NotConfigured(f"it is {text!r}", where=VARIABLE, expected="seconds, 0 or more")
    return found
