"""Look at storage and read from it, without changing anything."""

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import BinaryIO

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.errors import NotFound, TooLarge
from audioloom_storage.location import Location
from audioloom_storage.registry import backend_of

_PIECE_BYTES = 256 << 10  # fits in the cache of a core, so a reader finds the bytes there


def stat(location: Location) -> Entry:
    """Describe an entry; links are followed.

    Raises:
        NotFound: nothing lies there, or a link leads nowhere.
        PermissionDenied: a folder on the way may not be entered.
    """
    step(Step.READ, location)
    return backend_of(location).stat(location)


def exists(location: Location) -> bool:
    """Return whether anything lies there; a link that leads nowhere does not count.

    Raises:
        PermissionDenied: a folder on the way may not be entered, so nobody can tell.
    """
    try:
        stat(location)
    except NotFound:
        return False
    return True


def list_folder(location: Location) -> Iterator[Entry]:
    """List a folder, sorted by name, unfinished files included (`is_temporary`).

    The names of the folder are read at once (about 0.1 kB of memory each), sizes and times during
    the iteration. A link is shown as its target; a link that leads nowhere, in circles or out of
    reach is shown as a file, which nobody can open. Entries that disappear meanwhile are left out.

    Raises:
        NotFound, NotAFolder, PermissionDenied: when called.
    """
    step(Step.READ, location)
    return backend_of(location).list_folder(location)


def walk(
    location: Location, *, within: Location | None = None, links: bool = True
) -> Iterator[Entry]:
    """Yield the files anywhere below a folder, depth first, each folder sorted by name.

    Links to folders are followed, except back into a folder that the walk is in. So the walk always
    ends, and the target of two links is seen twice, under both names. Memory holds only the names
    in the folders on the way.

    The files are those that a walk of *within*, a folder above, finds here: a link back into a
    folder between the two is not followed either. Without *links* every link is left out, to a file
    or to a folder, and everything behind one, from below *within* on.

    Raises:
        NotFound, NotAFolder: when called.
        PermissionDenied: a folder below may not be listed; it is named. Without an error, the
            archive would look complete without its files.
    """
    within = within or location
    if not links and any(stat(each).is_link for each in _below(location, within)):
        return iter(())
    above, identity = _identities(location, within), _identity(location)
    if identity in above:
        return iter(())
    return _walk(above, (identity, list_folder(location)), links=links)


def leads_back(location: Location, within: Location) -> bool:
    """Return whether a link makes this folder one of its own parents, from *within* down.

    Raises:
        NotFound: the folder is missing.
    """
    return _identity(location) in _identities(location, within)


def _identity(location: Location) -> Hashable:
    return backend_of(location).folder_identity(location)


def _below(location: Location, within: Location) -> Iterator[Location]:
    """Yield the location and the folders above it, up to one that lies in *within*."""
    while location.is_under(within):
        yield location
        location = location.parent


def _identities(location: Location, within: Location) -> list[Hashable]:
    return [_identity(each.parent) for each in _below(location, within)]


def _walk(
    above: list[Hashable], first: tuple[Hashable, Iterator[Entry]], *, links: bool
) -> Iterator[Entry]:
    trail = [*((identity, iter(())) for identity in above), first]
    while len(trail) > len(above):
        entry = next(trail[-1][1], None)
        if entry is None:
            trail.pop()
        elif entry.is_link and not links:
            continue
        elif not entry.is_folder:
            yield entry
        else:
            try:
                identity = _identity(entry.location)
                if all(identity != other for other, _ in trail):
                    trail.append((identity, list_folder(entry.location)))
            except NotFound:  # removed since its name was read
                continue


def open_read(location: Location) -> BinaryIO:
    """Open a file for reading: seekable, buffered.

    Raises:
        NotFound, PermissionDenied, IsAFolder, NotAFile: no file lies there that this user may read.
        Unavailable: the storage failed, now or during a later read.
    """
    step(Step.READ, location)
    return backend_of(location).open_read(location)


def pieces(file: BinaryIO) -> Iterator[bytes | memoryview]:
    """Yield the rest of an open file in pieces: of a remote file as they arrive, without a copy.

    Until the last piece, the file can only be closed. Raises Unavailable if the storage fails.
    """
    arriving: Callable[[], Iterator[memoryview]] | None = getattr(file, "pieces", None)
    return arriving() if arriving else iter(partial(file.read, _PIECE_BYTES), b"")


def read_bytes(location: Location, *, limit: int) -> bytes:
    """Return the bytes of a small file: data from outside is never read without a limit.

    Raises:
        TooLarge: the file holds more than `limit`; one byte more was read.
        NotFound, PermissionDenied, IsAFolder, NotAFile, Unavailable: as `open_read`.
    """
    with open_read(location) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(
            "the file is larger than this reader accepts",
            where=location,
            expected=f"at most {limit} bytes",
        )
    return data
