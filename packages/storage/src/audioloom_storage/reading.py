"""Look and read. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import BinaryIO

from audioloom_storage._backends import Entry, backend_of
from audioloom_storage._steps import Step, step
from audioloom_storage.errors import NotFound, TooLarge
from audioloom_storage.location import Location


def stat(location: Location) -> Entry:
    """What lies there; links are followed.

    Raises:
        NotFound: nothing does, or a link leads nowhere.
        PermissionDenied: a folder on the way may not be entered.
    """
    step(Step.READ, location)
    return backend_of(location).stat(location)


def exists(location: Location) -> bool:
    """Whether anything lies there; a link that leads nowhere does not.

    Raises:
        PermissionDenied: a folder on the way may not be entered, so nobody can tell.
    """
    try:
        stat(location)
    except NotFound:
        return False
    return True


def list_folder(location: Location) -> Iterator[Entry]:
    """What lies directly in a folder, sorted by name, unfinished files included (see `is_temporary`).

    The names of this one folder are held in memory; sizes and times are asked for as you go. A link is shown as what
    it leads to; one that leads nowhere (or in circles) as a file of its own size, which nobody can open. What
    disappears while the listing runs is left out.

    Raises:
        NotFound, NotAFolder, PermissionDenied: when the first entry is asked for.
    """
    step(Step.READ, location)
    yield from backend_of(location).list_folder(location)


def walk(location: Location) -> Iterator[Entry]:
    """The files anywhere below a folder, depth first, each folder sorted by name; folders are not shown.

    Links to folders are followed, except back into a folder that the walk stands in: so it ends, and what lies behind
    two links is seen twice, under both names. Nothing is held but the names of the folders on the way.

    Raises:
        NotFound, NotAFolder: `location` itself is no folder.
        PermissionDenied: some folder may not be listed; the error names it. A silent gap would look like an
            archive without those files.
    """
    identity = backend_of(location).folder_identity
    trail: list[tuple[Hashable, Iterator[Entry]]] = [(identity(location), list_folder(location))]
    while trail:
        entry = next(trail[-1][1], None)
        if entry is None:
            trail.pop()
        elif not entry.is_folder:
            yield entry
        else:
            try:
                itself = identity(entry.location)
            except NotFound:
                continue
            if all(itself != above for above, _ in trail):
                trail.append((itself, list_folder(entry.location)))


def open_read(location: Location) -> BinaryIO:
    """Open a file for reading; seekable, buffered.

    Raises:
        NotFound, PermissionDenied, IsAFolder, NotAFile: it is not a file that this user may read.
            While reading: Unavailable.
    """
    step(Step.READ, location)
    return backend_of(location).open_read(location)


def read_bytes(location: Location, *, limit: int) -> bytes:
    """The whole of a small file.

    Args:
        limit: bytes. What comes from outside is never read without one.

    Raises:
        TooLarge: it holds more than `limit`; at most `limit` + 1 were read.
        NotFound, PermissionDenied, IsAFolder, NotAFile, Unavailable: as `open_read`.
    """
    with open_read(location) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge("the file is larger than what may be read at once", where=location, expected=f"at most {limit} bytes")
    return data
