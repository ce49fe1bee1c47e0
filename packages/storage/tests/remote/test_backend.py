from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from audioloom_storage import (
    AlreadyExists,
    IsAFolder,
    Location,
    NoSpace,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnknownOutcome,
    exists,
    locate,
    make_folder,
    publish,
    read_bytes,
)
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.registry import backend_of
from audioloom_storage.remote.backend import commit
from audioloom_storage.remote.retry import Busy, Outage, Retry
from audioloom_storage_testing import MemoryStore

FOLDER = locate("/in/memory")


@pytest.mark.parametrize("size", [2, 4])
def test_an_unfinished_file_of_another_size_is_not_committed(size: int) -> None:
    """A request for the same file that came late has replaced it: its bytes are not ours."""
    with MemoryStore().installed() as store:
        make_folder(FOLDER)
        publish(FOLDER / "unfinished", b"123")
        stat: Callable[[Location], Entry] = backend_of(FOLDER).stat
        with pytest.raises(Unavailable, match=r"has 3 bytes .expected the . bytes"):
            commit(FOLDER / "unfinished", FOLDER / "m.json", size, store.rename, stat, Retry())
        assert not exists(FOLDER / "m.json")
        commit(FOLDER / "unfinished", FOLDER / "m.json", 3, store.rename, stat, Retry())
        assert b"123" == read_bytes(FOLDER / "m.json", limit=3)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (PermissionDenied, UnknownOutcome),
        (NoSpace, UnknownOutcome),
        (Unavailable, UnknownOutcome),
        (Busy, UnknownOutcome),
        (AlreadyExists, AlreadyExists),
        (IsAFolder, IsAFolder),
    ],
)
def test_a_refusal_after_a_lost_answer_tells_nothing_of_the_first_request(
    refusal: type[StorageError], expected: type[StorageError]
) -> None:
    """It may have been executed; only a name that is taken says that it was not."""

    class Once(Retry):
        def pauses(self) -> Iterator[float]:
            return iter([0.0])

    answers: list[StorageError] = [Outage("lost"), refusal("no")]

    def rename(temporary: Location, target: Location) -> None:
        raise answers.pop(0)

    with MemoryStore().installed():
        publish(FOLDER / "unfinished", b"123")
        stat: Callable[[Location], Entry] = backend_of(FOLDER).stat
        with pytest.raises(StorageError) as caught:
            commit(FOLDER / "unfinished", FOLDER / "m.json", 3, rename, stat, Once())
    assert expected is caught.type
    assert [] == answers
