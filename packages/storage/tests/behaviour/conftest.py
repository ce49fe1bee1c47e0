"""The storages that the behaviour tests run against: a new one adds a fixture and its name here."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from audioloom_storage import Location, _local_move, make_folder

# The ways of a local commit are tried in order; leaving out the first is a file system without it.
_LOCAL_WAYS = {"local": 0, "local-without-links": 1, "local-without-any": 2}


@dataclass(frozen=True)
class Place:
    """An empty folder on some storage.

    Args:
        folder: where.
        prelude: Python that brings another process to the same storage.
    """

    folder: Location
    prelude: str


@pytest.fixture(params=[*_LOCAL_WAYS, "hdfs", "webhdfs"])
def place(request: pytest.FixtureRequest) -> Place:
    """Every test below runs once for each storage."""
    if request.param not in _LOCAL_WAYS:
        root: Location = getattr(request.getfixturevalue("cluster"), request.param)
        empty = root / f"tests/{os.urandom(8).hex()}"
        make_folder(empty)
        return Place(empty, "")
    first = _LOCAL_WAYS[request.param]
    request.getfixturevalue("monkeypatch").setattr(_local_move, "WAYS", _local_move.WAYS[first:])
    prelude = "from audioloom_storage import _local_move\n"
    here: Location = request.getfixturevalue("here")
    return Place(here, f"{prelude}_local_move.WAYS = _local_move.WAYS[{first}:]\n")


@pytest.fixture
def folder(place: Place) -> Location:
    """An empty folder on the storage under test."""
    return place.folder
