from __future__ import annotations

import threading
from pathlib import Path

import pytest
from audioloom_manifest import MissingFile, Patience, check_files, late_files
from audioloom_storage import Location, NotConfigured, locate

from .conftest import commit_one, write


@pytest.fixture
def slow_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may be late by half a minute."""
    monkeypatch.setenv(late_files.VARIABLE, "30")


def appears_later(path: Path) -> threading.Timer:
    """Take a file away, and bring it back in a moment."""
    hidden = path.with_name("hidden")
    path.rename(hidden)
    timer = threading.Timer(0.4, hidden.rename, [path])
    timer.start()
    return timer


@pytest.mark.usefixtures("slow_storage")
def test_a_list_of_files_that_appears_late_is_waited_for(root: Location) -> None:
    """The manifest was seen before it, as listings of network file systems have it."""
    opened = commit_one(root).opened
    timer = appears_later(Path(opened.folder.path, opened.manifest.files.name))
    assert 1 == len(opened.files())
    timer.join()


@pytest.mark.usefixtures("slow_storage")
def test_files_that_appear_late_are_waited_for(root: Location) -> None:
    """None of them is a problem then."""
    entries = [write(root, name, b"12345678") for name in ("a", "b")]
    timer = appears_later(Path(root.path, "b"))
    assert [] == list(check_files(root, entries))
    timer.join()


def test_files_that_do_not_appear_are_waited_for_together_and_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once, whatever their number: an error for each would come after as many waits."""
    waits: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(late_files.time, "sleep", sleep)
    monkeypatch.setattr(late_files.time, "monotonic", lambda: clock[0])
    names = [f"{number:02}" for number in range(25)]
    patience = Patience(5.0)
    with pytest.raises(MissingFile) as caught:
        patience.wait_for(locate(tmp_path) / name for name in names)
    assert all(f"{tmp_path}/{name}" in caught.value.where for name in names[:20])
    assert caught.value.where.endswith(" and 5 more")
    with pytest.raises(MissingFile):
        patience.stat(locate(tmp_path) / "another")
    assert 5.0 == sum(waits)


@pytest.mark.parametrize("text", ["soon", "-1", "inf"])
def test_a_time_that_is_none_is_a_wrong_configuration(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """And is named by its variable."""
    monkeypatch.setenv(late_files.VARIABLE, text)
    with pytest.raises(NotConfigured, match=late_files.VARIABLE):
        Patience()
