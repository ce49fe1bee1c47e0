"""The storages that the behaviour tests run against: a new one adds a fixture and its name here."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from audioloom_storage import Location, locate, make_folder
from audioloom_storage.local import commit
from audioloom_storage_testing import MemoryStore
from storage_place import Place

# The ways of a local commit are tried in order; leaving out the first is a file system without it.
_LOCAL_WAYS = {"local": 0, "local-without-links": 1, "local-without-any": 2}


_HADOOP = ("hdfs", "webhdfs")


# Other processes and other users are not there, and its folders have no permissions to speak of.
_ALONE = ("test_reading.py", "test_writing.py")

# An object has neither owner nor permissions, and no temporary name.
_ON_S3 = (
    "test_fsspec.py",
    "test_reading.py",
    "test_writing.py",
    "test_races.py",
    "test_crashes.py",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test once for each storage; that in memory where one process is enough."""
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "place" in metafunc.fixturenames and "place" not in chosen:
        memory = ["memory"] if metafunc.definition.path.name in _ALONE else []
        places = [*_LOCAL_WAYS, *memory, *_HADOOP]
        if metafunc.definition.path.name in _ON_S3:
            places.append("s3")
        metafunc.parametrize("place", places, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what needs the cluster in one process, which starts it: two are more than it costs."""
    for item in items:
        spec = getattr(item, "callspec", None)  # of a test with parameters
        if spec is not None and spec.params.get("place") in _HADOOP:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The storage under test."""
    if request.param == "memory":
        with MemoryStore().installed():
            empty = locate("/in/memory")
            make_folder(empty)
            yield Place(empty, "")
        return
    if request.param == "s3":
        empty = locate(request.getfixturevalue("s3").root) / os.urandom(8).hex()
        make_folder(empty)
        yield Place(empty, "")
        return
    if request.param not in _LOCAL_WAYS:
        cluster = request.getfixturevalue("cluster")
        root: Location = getattr(cluster, request.param)
        empty = root / f"tests/{os.urandom(8).hex()}"
        make_folder(empty)
        yield Place(empty, "", cluster)
        return
    first = _LOCAL_WAYS[request.param]
    request.getfixturevalue("monkeypatch").setattr(commit, "WAYS", commit.WAYS[first:])
    prelude = "from audioloom_storage.local import commit\n"
    here: Location = request.getfixturevalue("here")
    yield Place(here, f"{prelude}commit.WAYS = commit.WAYS[{first}:]\n")


@pytest.fixture
def folder(place: Place) -> Location:
    """An empty folder on the storage under test."""
    return place.folder
