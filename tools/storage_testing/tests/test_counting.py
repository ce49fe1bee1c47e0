from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_storage import (
    Location,
    NotFound,
    list_folder,
    make_folder,
    open_read,
    publish,
    read_bytes,
    remove,
    remove_empty_folder,
    remove_tree,
    walk,
)
from audioloom_storage_testing import Call, CountingStore, counting

PUBLISHED = (Call.STAT, Call.CREATE, Call.ADD_BLOCK, Call.COMPLETE, Call.STAT, Call.RENAME)


@pytest.fixture
def store(tmp_path: Path) -> CountingStore:
    """A count of its own."""
    return CountingStore(tmp_path / "calls")


@pytest.mark.parametrize(
    ("work", "calls"),
    [
        (lambda here: publish(here / "a", b"a"), PUBLISHED),
        (lambda here: publish(here / "empty", b""), [*PUBLISHED[:2], *PUBLISHED[3:]]),
        (lambda here: publish(here / "b/c", b"c"), [Call.CREATE, Call.MAKE_FOLDER, *PUBLISHED]),
        (lambda here: read_bytes(here / "old", limit=9), [Call.OPEN]),
        (lambda here: list(list_folder(here / "folder")), [Call.LIST]),
        (lambda here: list(walk(here)), [Call.LIST] * 2),
        (lambda here: make_folder(here / "d"), [Call.MAKE_FOLDER]),
        (lambda here: make_folder(here / "e", private=True), [Call.MAKE_FOLDER] * 2),
        (lambda here: remove(here / "old"), [Call.STAT, Call.DELETE]),
        (lambda here: remove_empty_folder(here / "folder"), [Call.STAT, Call.DELETE]),
        (lambda here: remove_tree(here / "folder"), [Call.LIST, Call.STAT, Call.DELETE]),
    ],
)
def test_each_operation_takes_the_calls_of_hdfs(
    here: Location, store: CountingStore, work: Callable, calls: list[Call]
) -> None:
    """As the backend for hdfs:// asks for them."""
    publish(here / "old", b"old")
    make_folder(here / "folder")
    with store.installed():
        work(here)
    assert Counter(calls) == store.calls


def test_a_failure_was_a_call_too(here: Location, store: CountingStore) -> None:
    """The NameNode looked, and found nothing."""
    with store.installed(), pytest.raises(NotFound):
        open_read(here / "nothing")
    assert {Call.OPEN: 1} == store.calls


def test_long_files_and_listings_take_more_calls(
    here: Location, store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each block, and one for as many entries as an answer holds."""
    monkeypatch.setattr(counting, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(counting, "LISTED", 2)
    with store.installed():
        publish(here / "folder/long", bytes(3001))
        assert 4 == store.calls[Call.ADD_BLOCK]
        for number in range(4):
            publish(here / f"folder/{number}", b"")
        assert 5 == len(list(list_folder(here / "folder")))
    assert 3 == store.calls[Call.LIST]


def test_processes_share_a_count(here: Location, store: CountingStore) -> None:
    """Spark's workers find it in their environment; behind the block nothing is counted."""
    script = (
        "import sys\n"
        "from audioloom_storage import exists, locate\n"
        "from audioloom_storage_testing import install_from_environment\n"
        "install_from_environment()\n"
        "exists(locate(sys.argv[1]))\n"
    )
    environment = {**os.environ, **store.environment()}
    with store.installed():
        subprocess.run([sys.executable, "-c", script, here.uri], env=environment, check=True)
        list(list_folder(here))
    list(list_folder(here))
    assert {Call.STAT: 1, Call.LIST: 1} == store.calls
