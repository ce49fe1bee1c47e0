"""Make a Spark session and run work units in it: the one place for every Spark stage.

Names are imported when they are first used: `--help` pays for the settings alone, and a task in an
executor for nothing that starts sessions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audioloom_spark.java import find_java
    from audioloom_spark.locality import Locality, block_hosts
    from audioloom_spark.session import spark_session
    from audioloom_spark.settings import SparkSettings
    from audioloom_spark.units import run_units
    from audioloom_spark.yarn import Yarn, yarn_of

__all__ = [
    "Locality",
    "SparkSettings",
    "Yarn",
    "block_hosts",
    "find_java",
    "run_units",
    "spark_session",
    "yarn_of",
]

_LATE = {
    "java": ("find_java",),
    "locality": ("Locality", "block_hosts"),
    "session": ("spark_session",),
    "settings": ("SparkSettings",),
    "units": ("run_units",),
    "yarn": ("Yarn", "yarn_of"),
}
_HOMES = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
