"""Put an environment's archive where nodes can get it, once for each user: it holds their code."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

import structlog
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    PermissionDenied,
    create,
    is_guarded,
    is_own,
    remove,
    stat,
)

from audioloom_environment.archive import pack
from audioloom_environment.contents import Environment, describe

log = structlog.get_logger()


@dataclass(frozen=True)
class Shipped:
    """An archive that lies where it should.

    Attributes:
        location: `<folder>/<digest>.tar.gz`, or as `own_place` says.
        environment: what is in it.
        size: bytes of the archive.
        uploaded: whether it was put there now; otherwise it was there already.
    """

    location: Location
    environment: Environment
    size: int
    uploaded: bool


def ship(
    prefix: str | Path | Environment, folder: Location, *, exclude: Iterable[str] = ()
) -> Shipped:
    """Make sure that the archive of an environment lies in a folder; build it only if it does not.

    Nothing is ever replaced: of several that ship the same environment at once the first wins, and
    all are right, since the name is the digest of what is inside. Nobody but its owner may read it,
    and nothing is taken for it that others could have written.

    Args:
        prefix: of the environment, or what `describe` said of it (then *exclude* has no meaning).
        folder: on any storage; made where it is missing.
        exclude: as for `describe`.

    Raises:
        NotAnEnvironment, NotRelocatable, …: as `describe` and `pack` say.
        StorageError: the folder cannot be written.
    """
    found = prefix if isinstance(prefix, Environment) else describe(prefix, exclude=exclude)
    location, uploaded = put_archive(found, folder, found.name)
    return Shipped(location, found, stat(location).size, uploaded)


def find_archive(folder: Location, name: str) -> Location | None:
    """This user's archive of that name, or None; see `own_place`."""
    location, there = own_place(folder, name)
    return location if there else None


def put_archive(environment: Environment, folder: Location, name: str) -> tuple[Location, bool]:
    """Pack an environment into a folder, readable for this user alone.

    Args:
        environment: what `describe` said of it.
        folder: on any storage; made where it is missing.
        name: `<digest>.tar.gz`; see `own_place`.

    Returns:
        Where it lies, and whether it was put there now.

    Raises:
        ChangedWhilePacking, PackingFailed: as `pack` says.
        StorageError: the folder cannot be written.
    """

    def write(file: BinaryIO) -> None:
        megabytes = environment.bytes >> 20
        log.info("packing the environment", prefix=str(environment.prefix), megabytes=megabytes)
        pack(environment, file)

    return put_own(folder, name, write)


def put_own(
    folder: Location, name: str, write: Callable[[BinaryIO], None]
) -> tuple[Location, bool]:
    """Make sure that a file of this user's lies in a folder, readable for this user alone.

    Args:
        folder: on any storage; made where it is missing.
        name: see `own_place`.
        write: writes it. Whoever has the name writes the same.

    Returns:
        Where it lies, and whether it was put there now.

    Raises:
        PermissionDenied: the storage does not tell what is this user's, or gives it to others.
        StorageError: the folder cannot be written.
    """
    while True:
        location, there = own_place(folder, name)
        if there:
            return location, False
        try:
            with create(location, private=True) as file:
                write(file)
        except AlreadyExists:  # somebody was faster: with the same content, or another user
            continue
        _check_own(location)
        _warn_unguarded(folder)
        log.info("shipped", archive=str(location), megabytes=stat(location).size >> 20)
        return location, True


def own_place(folder: Location, name: str) -> tuple[Location, bool]:
    """Where a file of this user's lies, or is to lie; and whether it does.

    What another user owns or may write is not used, whatever it is called: a name is no proof of
    what is inside. The place of `<digest>.tar.gz` is then `<digest>.2.tar.gz`, and so on.
    """
    stem, dot, suffix = name.partition(".")
    for number in count(2):
        try:
            if is_own(folder / name):
                _warn_unguarded(folder)
                return folder / name, True
        except NotFound:
            return folder / name, False
        name = f"{stem}.{number}{dot}{suffix}"
    raise AssertionError  # for mypy: counting has no end


def _check_own(location: Location) -> None:
    """Refuse a storage on which one would never find again what one has put there."""
    if not is_own(location):
        remove(location)
        raise PermissionDenied(
            "what was put there is another user's at once, or others may write it",
            where=location,
            expected="a storage that keeps owners and permissions",
            hint="Choose another folder.",
        )


def _warn_unguarded(folder: Location) -> None:
    if not is_guarded(folder):
        log.warning(
            "others may replace what lies in this folder, or the folder: it runs with your rights",
            folder=str(folder),
            hint="Let its owner, and those of the folders above, set the sticky bit (chmod +t),"
            " or name a folder of your own, by a path without symbolic links.",
        )
