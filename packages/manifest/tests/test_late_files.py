from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from audioloom_manifest import late_files
from audioloom_manifest.errors import MissingFile
from audioloom_manifest.file_list import check_files
from audioloom_manifest.late_files import Patience
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location, NotConfigured, locate
from manifest_runs import commit_one, write


def appears_later(monkeypatch: pytest.MonkeyPatch, path: Path) -> list[float]:
    """Take a file away, and bring it back when it is waited for; answer with the waits."""
    hidden = path.rename(path.with_name("hidden"))
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        hidden.rename(path)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    monkeypatch.setattr(late_files, "time", clock)
    monkeypatch.setenv(late_files.VARIABLE, "30")
    return waits


def test_a_list_of_files_that_appears_late_is_waited_for(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest was seen before it, as listings of network file systems have it."""
    opened = commit_one(root).opened
    waits = appears_later(monkeypatch, Path(opened.folder.path, opened.manifest.files.name))
    assert opened.files() == read_manifest(opened.folder).files()
    assert 1 == len(waits)


def test_files_that_appear_late_are_waited_for(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is a problem then."""
    entries = [write(root, name, b"12345678") for name in ("a", "b")]
    waits = appears_later(monkeypatch, Path(root.path, "b"))
    assert [] == list(check_files(root, entries))
    assert 1 == len(waits)


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
