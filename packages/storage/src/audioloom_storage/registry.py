"""Map schemes to backend modules: a new storage is one module and one line here."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from audioloom_storage.backend.protocol import Backend
from audioloom_storage.errors import not_installed
from audioloom_storage.location import Location

MODULES = {
    "file": "audioloom_storage.local.backend",
    "hdfs": "audioloom_storage.hdfs.backend",
    "webhdfs": "audioloom_storage.webhdfs.backend",
    "s3": "audioloom_storage.objects.s3",
    **dict.fromkeys(("gs", "abfs", "http", "https"), "audioloom_storage.objects.backend"),
}


Between = Callable[[Backend], Backend]


class _Way:
    between: Between | None = None


def put_between(between: Between | None) -> Between | None:
    """Put a fault layer of tests before every storage; return the previous layer."""
    before, _Way.between = _Way.between, between
    return before


def backend_of(location: Location) -> Backend:
    """Return the backend of a location, imported now; NotConfigured without its package."""
    try:
        backend = cast("Backend", import_module(MODULES[location.scheme]).BACKEND)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "audioloom_storage":
            raise
        raise not_installed(location, str(error.name)) from error
    return backend if _Way.between is None else _Way.between(backend)
