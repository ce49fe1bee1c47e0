from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from audioloom_storage import (
    Location,
    NotFound,
    PermissionDenied,
    is_private,
    is_shared,
    locate,
    make_folder,
    publish,
    share,
)

TRY = """
import sys
from audioloom_storage import locate, read_bytes, share
file = locate(sys.argv[1])
print(read_bytes(file, limit=9))
try:
    share(file.parent / "theirs")
except Exception as error:
    print(type(error).__name__)
"""


@pytest.fixture
def everybodys(place: Any) -> Iterator[Location]:
    """An empty folder that all may enter: those of pytest are closed on a disk."""
    if place.cluster is not None:
        yield place.folder
        return
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield locate(folder)


def test_what_is_not_there_is_neither(place: Any) -> None:
    """And cannot be shared."""
    for question in (is_shared, is_private, share):
        with pytest.raises(NotFound):
            question(place.folder / "nothing")


def test_a_folder_that_nobody_enters_is_named(place: Any) -> None:
    """Before the file is changed: to open folders is their owner's affair."""
    make_folder(place.folder / "closed", private=True)
    file = place.folder / "closed/file"
    publish(file, b"code", private=True)
    with pytest.raises(PermissionDenied, match=r"lets nobody else through \(7[05][05]\)"):
        share(file)
    assert is_private(file)


def test_a_shared_file_is_everybodys(place: Any, everybodys: Location) -> None:
    """It may be shared twice."""
    file = everybodys / "file"
    publish(file, b"code", private=True)
    assert (True, False) == (is_private(file), is_shared(file))
    share(file)
    share(file)
    assert (False, True) == (is_private(file), is_shared(file))
    assert 0o644 == place.mode(file)


@pytest.mark.parametrize("place", ["hdfs", "webhdfs"], indirect=True)
def test_another_user_reads_it_and_shares_nothing(place: Any) -> None:
    """What is shared is read by all, and only its owner decides that."""
    publish(place.folder / "mine", b"code", private=True)
    publish(place.folder / "theirs", b"code", private=True)
    share(place.folder / "mine")
    ran = subprocess.run(
        [sys.executable, "-c", TRY, (place.folder / "mine").uri],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HADOOP_USER_NAME": "nobody"},
    )
    assert ["b'code'", "PermissionDenied"] == ran.stdout.splitlines()
