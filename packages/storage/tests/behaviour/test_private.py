from __future__ import annotations

import os
import subprocess
import sys

import pytest
from audioloom_storage import Location, create, list_folder, make_folder, publish
from storage_place import Place

UMASKS = pytest.mark.parametrize("mask", [0, 0o022])

TRY = """
import sys
from audioloom_storage import PermissionDenied, list_folder, locate, read_bytes
for look in (
    lambda folder: read_bytes(folder / "file", limit=9),
    lambda folder: list_folder(folder / "closed"),
    lambda folder: read_bytes(folder / "closed/file", limit=9),
):
    try:
        print("saw", look(locate(sys.argv[1])))
    except PermissionDenied:
        print("refused")
"""


def modes_of(place: Place, folder: Location) -> list[int]:
    return [place.mode(entry.location) for entry in list_folder(folder)]


@UMASKS
def test_a_private_file_is_its_owners_from_the_start(place: Place, mask: int) -> None:
    """Under its temporary name, empty and half written, and when it is published."""
    with place.umask(mask):
        with create(place.folder / "code.tar.gz", private=True) as file:
            late = place.folder.scheme == "webhdfs"  # it takes a moment
            assert modes_of(place, place.folder) in ([[0o600], []] if late else [[0o600]])
            file.write(b"x" * 3_000_000)
            assert [0o600] == modes_of(place, place.folder)
        publish(place.folder / "job.json", b"{}", private=True)
    assert [0o600, 0o600] == modes_of(place, place.folder)


@UMASKS
def test_a_private_folder_is_its_owners(place: Place, mask: int) -> None:
    """It alone: its parents and what is made beside it are as always."""
    with place.umask(mask):
        make_folder(place.folder / "usual")
        make_folder(place.folder / "a/b/c", private=True)
        usual = place.mode(place.folder / "usual")
        assert usual & 0o055
        below = [place.mode(place.folder / name) for name in ("a", "a/b", "a/b/c")]
        assert [usual, usual, 0o700] == below
        publish(place.folder / "x/y/secret", b"", private=True)
        publish(place.folder / "x/y/shown", b"")
        assert [usual, usual] == [place.mode(place.folder / name) for name in ("x", "x/y")]
        assert place.mode(place.folder / "x/y/shown") & 0o044
        assert 0o600 == place.mode(place.folder / "x/y/secret")


def test_a_folder_that_is_there_stays_as_it_is(place: Place) -> None:
    """Whoever made it has others in mind."""
    make_folder(place.folder / "open")
    before = place.mode(place.folder / "open")
    make_folder(place.folder / "open", private=True)
    assert before == place.mode(place.folder / "open")
    make_folder(place.folder / "closed", private=True)
    make_folder(place.folder / "closed")
    assert 0o700 == place.mode(place.folder / "closed")


@pytest.mark.parametrize("place", ["hdfs", "webhdfs"], indirect=True)
def test_another_user_sees_nothing_of_it(place: Place) -> None:
    """Neither the file nor what a private folder holds."""
    publish(place.folder / "file", b"secret", private=True)
    make_folder(place.folder / "closed", private=True)
    publish(place.folder / "closed/file", b"secret")
    ran = subprocess.run(
        [sys.executable, "-c", TRY, place.folder.uri],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HADOOP_USER_NAME": "nobody"},
    )
    assert ["refused"] * 3 == ran.stdout.splitlines()
