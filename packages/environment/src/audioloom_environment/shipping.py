"""Put an environment's archive where nodes can get it, once for each user: it holds their code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import structlog
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    PermissionDenied,
    create,
    open_read,
    stat,
)

from audioloom_environment.archive import pack
from audioloom_environment.contents import Environment, describe

__all__ = ["Shipped", "find_archive", "put_archive", "ship"]

log = structlog.get_logger()


@dataclass(frozen=True)
class Shipped:
    """An archive that lies where it should.

    Attributes:
        location: `<folder>/<digest>.tar.gz`, or as `put_archive` says.
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
    all are right, since the name is the digest of what is inside. Nobody but its owner may read it.

    Args:
        prefix: of the environment, or what `describe` said of it (then *exclude* has no meaning).
        folder: on any storage; made where it is missing.
        exclude: as for `describe`.

    Raises:
        NotAnEnvironment, NotRelocatable, …: as `describe` and `pack` say.
        StorageError: the folder cannot be written.
    """
    found = prefix if isinstance(prefix, Environment) else describe(prefix, exclude=exclude)
    there = find_archive(folder, found.name)
    if there is not None:
        return Shipped(there, found, stat(there).size, uploaded=False)
    location, uploaded = put_archive(found, folder, found.name)
    return Shipped(location, found, stat(location).size, uploaded)


def find_archive(folder: Location, name: str) -> Location | None:
    """The archive of that name which this user may read, or None; see `put_archive`."""
    location, there = _place(folder, name)
    return location if there else None


def put_archive(environment: Environment, folder: Location, name: str) -> tuple[Location, bool]:
    """Pack an environment into a folder, readable for this user alone.

    Args:
        environment: what `describe` said of it.
        folder: on any storage; made where it is missing.
        name: `<digest>.tar.gz`. Where another user has one of that name, it is
            `<digest>.2.tar.gz`, and so on.

    Returns:
        Where it lies, and whether it was put there now.

    Raises:
        ChangedWhilePacking, PackingFailed: as `pack` says.
        StorageError: the folder cannot be written.
    """
    megabytes = environment.bytes >> 20
    log.info("packing the environment", prefix=str(environment.prefix), megabytes=megabytes)
    while True:
        location, there = _place(folder, name)
        if there:
            return location, False
        try:
            with create(location, private=True) as file:
                pack(environment, file)
        except AlreadyExists:  # somebody was faster: with the same content, or another user
            continue
        megabytes = stat(location).size >> 20
        log.info("shipped the environment", archive=str(location), megabytes=megabytes)
        return location, True


def _place(folder: Location, name: str) -> tuple[Location, bool]:
    """Where this user's archive of that name lies, or is to lie; and whether it does."""
    stem, dot, suffix = name.partition(".")
    for number in count(2):
        try:
            with open_read(folder / name) as file:
                file.read(1)
        except NotFound:
            return folder / name, False
        except PermissionDenied:  # another user's
            name = f"{stem}.{number}{dot}{suffix}"
        else:
            return folder / name, True
    raise AssertionError  # for mypy: counting has no end
