"""Upload an environment's archive for the nodes, once for each user: it holds the user's code."""

from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import BinaryIO

import audioloom_storage as storage
import structlog
from audioloom_storage import Location

from audioloom_environment.archive import pack
from audioloom_environment.contents import Environment, describe

log = structlog.get_logger()


def ship(prefix: str | Path, folder: Location, *, exclude: Iterable[str] = ()) -> Location:
    """Upload the archive of an environment to a folder; build it only if it is missing there.

    Nothing is ever replaced. If several processes ship one environment at once, the first wins and
    all are right, because the name is the digest of the content. Only its owner may read the
    archive, and a file that others could have written is never used. Raises as `describe`, `pack`
    and `put_own` do.
    """
    found = describe(prefix, exclude=exclude)
    return put_archive(found, folder, found.name)[0]


def put_archive(environment: Environment, folder: Location, name: str) -> tuple[Location, bool]:
    """Pack an environment into a file of that name, as `put_own` puts it; raises as `pack` too."""

    def write(file: BinaryIO) -> None:
        megabytes = environment.bytes >> 20
        log.info("packing the environment", prefix=str(environment.prefix), megabytes=megabytes)
        pack(environment, file)

    return put_own(folder, name, write)


def put_own(
    folder: Location, name: str, write: Callable[[BinaryIO], None]
) -> tuple[Location, bool]:
    """Make sure that a file of this user lies in a folder, readable for this user alone.

    The folder is made where it is missing. Every writer of a name writes equal bytes. Return the
    place, as `own_place` says, and whether the file was put there now.

    Raises:
        PermissionDenied: the storage does not tell owners, or gives new files to other users.
        StorageError: the folder cannot be written.
    """
    while True:
        location, there = own_place(folder, name)
        if there:
            return location, False
        try:
            with storage.create(location, private=True, replication=storage.READ_BY_ALL) as file:
                write(file)
        except storage.AlreadyExists:
            continue  # another process was faster: with the same content, or another user
        if not storage.is_own(location):  # here one could never find one's own files again
            storage.remove(location)
            raise storage.PermissionDenied(
                "what was put there is another user's at once, or others may write it",
                where=location,
                expected="a storage that keeps owners and permissions",
                hint="Choose another folder.",
            )
        _warn_unguarded(folder)
        log.info("shipped", archive=str(location), megabytes=storage.stat(location).size >> 20)
        return location, True


def own_place(folder: Location, name: str) -> tuple[Location, bool]:
    """Return the place of a file of this user, and whether the file exists.

    A file that another user owns or may write is not used, because a name is no proof of the
    content. The place of `<digest>.tar.gz` is then `<digest>.2.tar.gz`, and so on.
    """
    stem, dot, suffix = name.partition(".")
    for number in count(2):
        try:
            if storage.is_own(folder / name):
                _warn_unguarded(folder)
                return folder / name, True
        except storage.NotFound:
            return folder / name, False
        name = f"{stem}.{number}{dot}{suffix}"
    raise AssertionError  # for mypy: counting has no end


def _warn_unguarded(folder: Location) -> None:
    if not storage.is_guarded(folder):
        log.warning(
            "others may replace what lies in this folder, or the folder: it runs with your rights",
            folder=str(folder),
            hint="Let its owner, and those of the folders above, set the sticky bit (chmod +t),"
            " or name a folder of your own, by a path without symbolic links.",
        )
