"""What a power cut may not undo: which files and folders are forced to disk, and when."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from audioloom_storage import Location, create, is_temporary, make_folder, publish
from audioloom_storage.local import commit as moves

Synced = list[tuple[str, set[str]]]


@pytest.fixture
def synced(here: Location, monkeypatch: pytest.MonkeyPatch) -> Synced:
    """What was forced to disk, in order, each with all paths that there were at that moment."""
    found: Synced = []
    folder, sync = Path(here.path), os.fsync

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        what = Path(f"/proc/self/fd/{descriptor}").readlink()
        present = {str(path.relative_to(folder)) for path in folder.rglob("*")}
        found.append((str(what.relative_to(folder)), present))

    monkeypatch.setattr(os, "fsync", fsync)
    return found


@pytest.mark.parametrize("way", moves.WAYS)
@pytest.mark.parametrize("streamed", [False, True])
def test_bytes_are_on_disk_before_the_name_and_the_name_before_the_answer(
    here: Location, synced: Synced, monkeypatch: pytest.MonkeyPatch, way: object, *, streamed: bool
) -> None:
    """Whichever way the file system knows: a name never stands for bytes that can be lost."""
    monkeypatch.setattr(moves, "WAYS", (way,))
    if streamed:
        with create(here / "m.json") as stream:
            stream.write(b"data")
    else:
        publish(here / "m.json", b"data")
    (file, before), (folder, after) = synced
    assert is_temporary(file)
    assert {file} == before
    assert (".", {"m.json"}) == (folder, after)


def test_each_folder_is_on_disk_before_the_next(here: Location, synced: Synced) -> None:
    """A file that is forced to disk in a folder that is not would be lost with it."""
    make_folder(here / "a/b")
    assert [(".", {"a"}), ("a", {"a", "a/b"})] == synced
