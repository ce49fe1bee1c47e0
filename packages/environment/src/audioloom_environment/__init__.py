"""An installed environment as one archive that carries its Python, shipped once, by its digest."""

from audioloom_environment.archive import pack
from audioloom_environment.contents import Environment, describe
from audioloom_environment.errors import (
    ChangedWhilePacking,
    NotAnEnvironment,
    NotRelocatable,
    PackingFailed,
)
from audioloom_environment.shipping import (
    Shipped,
    find_archive,
    own_place,
    put_archive,
    put_own,
    ship,
)

__all__ = [
    "ChangedWhilePacking",
    "Environment",
    "NotAnEnvironment",
    "NotRelocatable",
    "PackingFailed",
    "Shipped",
    "describe",
    "find_archive",
    "own_place",
    "pack",
    "put_archive",
    "put_own",
    "ship",
]
