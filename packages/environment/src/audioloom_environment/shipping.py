"""Put an environment's archive where nodes can get it, once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog
from audioloom_storage import AlreadyExists, Location, NotFound, create, stat

from audioloom_environment.archive import pack
from audioloom_environment.contents import Environment, describe

__all__ = ["Shipped", "ship"]

log = structlog.get_logger()


@dataclass(frozen=True)
class Shipped:
    """An archive that lies where it should.

    Attributes:
        location: `<folder>/<digest>.tar.gz`.
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
    all are right, since the name is the digest of what is inside.

    Args:
        prefix: of the environment, or what `describe` said of it (then *exclude* has no meaning).
        folder: on any storage; made where it is missing.
        exclude: as for `describe`.

    Raises:
        NotAnEnvironment, NotRelocatable, …: as `describe` and `pack` say.
        StorageError: the folder cannot be written.
    """
    found = prefix if isinstance(prefix, Environment) else describe(prefix, exclude=exclude)
    location = folder / found.name
    try:
        return Shipped(location, found, stat(location).size, uploaded=False)
    except NotFound:
        pass
    log.info("packing the environment", prefix=str(found.prefix), megabytes=found.bytes >> 20)
    uploaded = True
    try:
        with create(location) as file:
            pack(found, file)
    except AlreadyExists:  # somebody else was faster, with the same content
        uploaded = False
    size = stat(location).size
    log.info("shipped the environment", archive=str(location), megabytes=size >> 20)
    return Shipped(location, found, size, uploaded)
