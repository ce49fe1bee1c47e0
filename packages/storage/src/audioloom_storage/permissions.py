"""Who may read and write what, by permissions and owners: of the entry, and of those on the way."""

from audioloom_storage.backend.fault_points import Step, step
from audioloom_storage.backend.protocol import Holder
from audioloom_storage.errors import PermissionDenied
from audioloom_storage.location import Location
from audioloom_storage.registry import backend_of

_SHARED = 0o644
_OTHERS_READ, _OTHERS_ENTER = 0o004, 0o001
_OTHERS_WRITE, _STICKY = 0o022, 0o1000


def share(location: Location) -> None:
    """Let everybody read a file of one's own: its permissions become 644. Folders stay as they are.

    Raises:
        NotFound: nothing lies there.
        PermissionDenied: the file is another user's, or a folder on the way, which the error names,
            lets nobody else through. Then nothing was changed.
    """
    readable = _mode(location) & _OTHERS_READ
    closed = _closed(location)
    if closed is not None:
        raise PermissionDenied(
            f"a folder on the way lets nobody else through ({_mode(closed):o})",
            where=closed,
            expected="permissions that let everybody enter, such as 711 or 755",
            hint="Let its owner chmod it, or choose another place.",
        )
    if not readable:
        step(Step.SHARE, location)
        backend_of(location).set_permissions(location, _SHARED)


def is_shared(location: Location) -> bool:
    """Whether everybody may read a file, by its permissions and those of all folders on the way.

    Raises:
        NotFound: nothing lies there.
        PermissionDenied: a folder on the way may not be entered.
    """
    readable = _mode(location) & _OTHERS_READ
    return bool(readable) and _closed(location) is None


def is_private(location: Location) -> bool:
    """Whether nobody but its owner may do anything with a file, by its own permissions.

    Raises:
        NotFound: nothing lies there.
        PermissionDenied: a folder on the way may not be entered.
    """
    return not _mode(location) & 0o077


def is_own(location: Location) -> bool:
    """Whether an entry is this user's, and nobody else may write it. A link never is.

    What was planted under a name that others can guess is told by this from what one has written.

    Raises:
        NotFound: nothing lies there.
        PermissionDenied: a folder on the way may not be entered.
    """
    held = _holder(location)
    return held.owner == held.user and not held.mode & _OTHERS_WRITE


def is_guarded(folder: Location) -> bool:
    """Whether nobody else may replace what this user has in a folder, nor the folder itself.

    It and all folders above it must be this user's or the superuser's, who is the owner of `/`; and
    others may either not write them, or only what is theirs (the sticky bit). A link on the way
    counts as open to others: what is above the folder to which it leads is not looked at.

    Raises:
        NotFound: nothing lies there.
        PermissionDenied: a folder on the way may not be entered.
    """
    held = [_holder(each) for each in (*_above(folder), folder)]
    trusted = {held[0].owner, held[-1].user}
    return all(
        each.owner in trusted and (not each.mode & _OTHERS_WRITE or bool(each.mode & _STICKY))
        for each in held
    )


def _closed(location: Location) -> Location | None:
    for folder in _above(location):
        if not _mode(folder) & _OTHERS_ENTER:
            return folder
    return None


def _above(location: Location) -> list[Location]:
    above: list[Location] = []
    while location.path != "/":
        location = location.parent
        above.append(location)
    return above[::-1]


def _mode(location: Location) -> int:
    step(Step.READ, location)
    return backend_of(location).permissions(location)


def _holder(location: Location) -> Holder:
    step(Step.READ, location)
    return backend_of(location).holder(location)
