from __future__ import annotations

import fsspec
import pytest
from audioloom_storage import Location, NotFound, publish

DATA = bytes(range(256)) * 8192


def test_what_was_published_is_read_by_fsspec(folder: Location) -> None:
    """By its URL: found, listed with its size, read whole and in ranges."""
    publish(folder / "a b/50%.bin", DATA)
    files, name = fsspec.url_to_fs(f"audioloom+{folder.uri}")
    (found,) = files.find(name)
    assert f"{name}/a b/50%.bin" == found
    assert (len(DATA), "file") == (files.info(found)["size"], files.info(found)["type"])
    assert DATA[1000:1100] == files.cat_file(found, 1000, 1100)
    with files.open(found) as file:
        file.seek(-10, 2)
        assert DATA[-10:] == file.read()
    with pytest.raises(NotFound):
        files.open(f"{name}/none")
