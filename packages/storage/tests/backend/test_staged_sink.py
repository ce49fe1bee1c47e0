from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotFound,
    StorageError,
    Unavailable,
    is_temporary,
    locate,
)
from audioloom_storage.backend.staged_sink import StagedBackend, StagedSink
from audioloom_storage.write import NewFile
from audioloom_storage_testing import Crashed, CrashPlan, steps

TARGET = locate("/folder/m.json")


class Storage:
    """Takes bytes, and fails at one call by an error that names the unfinished file."""

    def __init__(self, fails_at: str = "", kind: type[StorageError] = Unavailable) -> None:
        self.fails_at, self.kind = fails_at, kind
        self.calls: list[str] = []
        self.temporary = TARGET

    def call(self, what: str) -> None:
        self.calls.append(what)
        if what == self.fails_at:
            raise self.kind("no", where=self.temporary)

    def start(self, temporary: Location, *, private: bool, replication: int | None) -> Storage:
        assert is_temporary(temporary.name)
        assert TARGET.parent == temporary.parent
        self.temporary = temporary
        self.call("start")
        return self

    def write(self, data: memoryview) -> int:
        self.call("write")
        return min(4, len(data))

    def finish(self) -> None:
        self.call("finish")

    def abandon(self) -> None:
        self.calls.append("abandon")

    def commit(self, temporary: Location, target: Location, size: int) -> None:
        assert (self.temporary, TARGET) == (temporary, target)
        self.call("commit")
        self.calls.append(f"{size} bytes")

    def remove(self, temporary: Location, *, within: Location | None) -> None:
        assert self.temporary == temporary
        self.call("remove")

    def file(self) -> NewFile:
        return NewFile(
            StagedSink(cast("StagedBackend", self), TARGET, private=False, replication=None), TARGET
        )


def write_all(file: NewFile) -> None:
    for data in (b"012345", b"45"):
        file.write(data)
    file.close()
    file.commit()


def test_a_file_is_committed_with_as_many_bytes_as_were_taken() -> None:
    """Afterwards there is nothing to remove."""
    storage = Storage()
    file = storage.file()
    write_all(file)
    file.abandon()
    calls = ["start", "write", "write", "finish", "commit", "6 bytes", "abandon"]
    assert calls == storage.calls


@pytest.mark.parametrize("fails_at", ["start", "write", "finish", "commit"])
@pytest.mark.parametrize("kind", [Unavailable, NotFound, AlreadyExists])
def test_errors_name_the_file_that_was_asked_for(fails_at: str, kind: type[StorageError]) -> None:
    """The unfinished file is no missing input, and its name is not that of somebody's file."""
    storage = Storage(fails_at, kind)
    with pytest.raises(StorageError) as caught:
        write_all(storage.file())
    assert str(TARGET) == caught.value.where
    folder_is_missing = (fails_at, kind) == ("start", NotFound)
    assert type(caught.value) is (NotFound if folder_is_missing else Unavailable)


def test_a_name_that_is_taken_is_said_to_be_so() -> None:
    """An answer was lost: nobody else has such a name."""
    with pytest.raises(Unavailable, match="an answer was lost"):
        Storage("start", AlreadyExists).file()


@pytest.mark.parametrize("removal", ["", "remove"])
def test_what_is_abandoned_is_removed_once(removal: str, tmp_path: Path) -> None:
    """In a step of its own, and whatever the storage says to it."""
    storage = Storage(removal)
    file = storage.file()
    with steps(tmp_path / "steps") as taken:
        file.abandon()
        file.abandon()
        assert ("remove",) == taken.names
    assert ["start", "abandon", "remove", "abandon"] == storage.calls


def test_after_a_power_cut_nothing_is_removed(tmp_path: Path) -> None:
    """The file is closed, as it is when its process ends."""
    storage = Storage()
    file = storage.file()
    with CrashPlan(tmp_path / "steps", 1).armed(), pytest.raises(Crashed):
        file.abandon()
    assert ["start", "abandon"] == storage.calls
