"""Reading from gs:// and abfs://, of servers that a person has started.

`fake-gcs-server -scheme http -backend memory` and `azurite-blob` are such servers. The variables of
gcsfs and adlfs name them: STORAGE_EMULATOR_HOST, AZURE_STORAGE_CONNECTION_STRING.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from audioloom_storage import (
    IsAFolder,
    Location,
    NotAFolder,
    NotConfigured,
    NotFound,
    list_folder,
    locate,
    open_read,
    publish,
    read_bytes,
    stat,
    walk,
)

SERVERS = {"gs": "STORAGE_EMULATOR_HOST", "abfs": "AZURE_STORAGE_CONNECTION_STRING"}
DATA = bytes(range(256)) * 4000  # below a warning of aiohttp about large bodies
FILES = {"a.wav": DATA, "sub/b c%20d.wav": b"b", "sub/é#?.wav": b"e", "sub/deep/empty.wav": b""}


@pytest.fixture(params=SERVERS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Location]:
    """A bucket with a few objects."""
    if not os.environ.get(SERVERS[request.param]):
        pytest.skip(f"{SERVERS[request.param]} names no server")
    import fsspec

    made = fsspec.filesystem(request.param, skip_instance_cache=True)
    name = f"bucket-{os.urandom(6).hex()}"
    made.mkdir(name)
    for path, data in FILES.items():
        made.pipe_file(f"{name}/{path}", data)
    yield locate(f"{request.param}://{name}")
    made.rm(name, recursive=True)


def test_a_bucket_is_walked_and_read(bucket: Location) -> None:
    """With names of any letters, sizes, and times that a listing and a look agree on."""
    found = {each.location.relative_to(bucket): each for each in walk(bucket)}
    assert {name: len(data) for name, data in FILES.items()} == {
        name: entry.size for name, entry in found.items()
    }
    for name, data in FILES.items():
        assert data == read_bytes(bucket / name, limit=len(DATA))
        assert found[name] == stat(bucket / name)
    assert ["a.wav", "sub"] == [each.location.name for each in list_folder(bucket)]


def test_ranges_are_read(bucket: Location) -> None:
    """Decoders jump."""
    with open_read(bucket / "a.wav") as file:
        file.seek(900_001)
        assert DATA[900_001:900_101] == file.read(100)
        file.seek(-3, os.SEEK_END)
        assert DATA[-3:] == file.read()


def test_failures_have_their_names(bucket: Location) -> None:
    """As on every other storage."""
    for missing in ("nothing", "a.wav/below", "sub/nothing"):
        with pytest.raises(NotFound):
            open_read(bucket / missing)
    with pytest.raises(NotFound):
        list_folder(bucket / "nothing")
    with pytest.raises(NotAFolder):
        list_folder(bucket / "a.wav")
    with pytest.raises(IsAFolder):
        open_read(bucket / "sub")
    with pytest.raises(NotConfigured, match="only read"):
        publish(bucket / "new", b"")
