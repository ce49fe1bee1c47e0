from __future__ import annotations

from collections.abc import Callable

import pytest
from audioloom_storage import (
    Location,
    Unavailable,
    exists,
    locate,
    make_folder,
    publish,
    read_bytes,
)
from audioloom_storage.backend.protocol import Entry
from audioloom_storage.registry import backend_of
from audioloom_storage.remote.backend import commit
from audioloom_storage.remote.retry import Retry
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
