"""Wait for late files: a network file system may show a manifest before the files that it names."""

import math
import os
import time
from collections.abc import Iterable

from audioloom_storage import Entry, Location, NotConfigured, NotFound, stat

from audioloom_manifest.errors import MissingFile

VARIABLE = "AUDIOLOOM_LATE_FILES_SECONDS"
DEFAULT_SECONDS = 10.0
_LOOK_EVERY_SECONDS = 0.25
_MOST_LISTED = 20


class Patience:
    """The time to wait for the files of a manifest: one limit for all, from the first missing file.

    Args:
        seconds: the limit; by default the value of AUDIOLOOM_LATE_FILES_SECONDS, or 10.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = _seconds() if seconds is None else seconds
        self._until: float | None = None

    def stat(self, location: Location) -> Entry:
        """Return the entry at *location*, as soon as there is one.

        Raises:
            MissingFile: nothing appeared in time.
        """
        while True:
            try:
                return stat(location)
            except NotFound as error:
                if not self._more():
                    raise missing([location]) from error

    def wait_for(self, locations: Iterable[Location]) -> None:
        """Wait until all files exist.

        Raises:
            MissingFile: some did not appear in time; the error names them.
        """
        gone = _gone(locations)
        while gone:
            if not self._more():
                raise missing(gone)
            gone = _gone(gone)

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
    """Make the error for files that a manifest names and that do not exist."""
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


def _gone(locations: Iterable[Location]) -> list[Location]:
    found = []
    for location in locations:
        try:
            stat(location)
        except NotFound:
            found.append(location)
    return found


def _seconds() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text) if text else DEFAULT_SECONDS
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise NotConfigured(f"it is {text!r}", where=VARIABLE, expected="seconds, 0 or more")
    return found
