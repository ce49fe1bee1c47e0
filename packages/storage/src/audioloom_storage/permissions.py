"""Check who may read and write a file, by the permissions and owners of it and its folders.

All functions raise NotFound where nothing lies, and PermissionDenied where a folder on the way may
not be entered.
"""

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.errors import PermissionDenied
from audioloom_storage.location import Location
from audioloom_storage.read import stat
from audioloom_storage.registry import backend_of

_SHARED = 0o644
_OTHERS_READ, _OTHERS_ENTER = 0o004, 0o001
_OTHERS_WRITE, _STICKY = 0o022, 0o1000


def share(location: Location) -> None:
    """Let everybody read a file of this user: its permissions become 644. Folders stay unchanged.

    Raises:
        PermissionDenied: the file is another user's, or a folder on the way, which the error names,
            lets nobody else through. Then nothing was changed.
    """
    readable = stat(location).mode & _OTHERS_READ
    closed = _closed(location)
    if closed is not None:
        raise PermissionDenied(
            f"a folder on the way lets nobody else through ({stat(closed).mode:o})",
            where=closed,
            expected="permissions that let everybody enter, such as 711 or 755",
            hint="Let its owner chmod it, or choose another place.",
        )
    if not readable:
        step(Step.SHARE, location)
        backend_of(location).set_permissions(location, _SHARED)


def is_shared(location: Location) -> bool:
    """Return whether everybody may read a file, by its permissions and those of all its folders."""
    return bool(stat(location).mode & _OTHERS_READ) and _closed(location) is None


def is_private(location: Location) -> bool:
    """Return whether only its owner has any permission on a file, by its own mode."""
    return not stat(location).mode & 0o077


def is_own(location: Location) -> bool:
    """Return whether an entry is this user's and nobody else may write it. A link never is.

    This tells a file of this user from one that others planted under a name they could guess.
    """
    held = _lstat(location)
    return held.owner == backend_of(location).user(location) and not held.mode & _OTHERS_WRITE


def is_guarded(folder: Location) -> bool:
    """Return whether nobody else may replace this user's entries in a folder, nor the folder.

    The folder and all folders above it must belong to this user or to the superuser, the owner of
    `/`. Others may not write them, or only their own entries (the sticky bit). A link on the way
    counts as open to others, because the folders above its target are not checked.
    """
    held = [_lstat(each) for each in (*_above(folder), folder)]
    trusted = {held[0].owner, backend_of(folder).user(folder)}
    return all(
        each.owner in trusted and (not each.mode & _OTHERS_WRITE or bool(each.mode & _STICKY))
        for each in held
    )


def _closed(location: Location) -> Location | None:
    closed = (each for each in _above(location) if not stat(each).mode & _OTHERS_ENTER)
    return next(closed, None)


def _above(location: Location) -> list[Location]:
    above: list[Location] = []
    while location.path != "/":
        location = location.parent
        above.append(location)
    return above[::-1]


def _lstat(location: Location) -> Entry:
    step(Step.READ, location)
    return backend_of(location).lstat(location)
