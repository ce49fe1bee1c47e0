"""Pack an installed environment with its Python into one archive, shipped once, by its digest."""

from audioloom_environment.archive import pack
from audioloom_environment.build import BuildInputs, build_environment, build_inputs
from audioloom_environment.contents import Environment, describe
from audioloom_environment.errors import (
    CannotBuild,
    ChangedWhilePacking,
    IngredientMissing,
    NotAnEnvironment,
    NotRelocatable,
    PackingFailed,
)
from audioloom_environment.upload import own_place, put_archive, put_own, ship

__all__ = [
    "BuildInputs",
    "CannotBuild",
    "ChangedWhilePacking",
    "Environment",
    "IngredientMissing",
    "NotAnEnvironment",
    "NotRelocatable",
    "PackingFailed",
    "build_environment",
    "build_inputs",
    "describe",
    "own_place",
    "pack",
    "put_archive",
    "put_own",
    "ship",
]
