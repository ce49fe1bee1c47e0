from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_runs.garbage import collect_garbage
from audioloom_runs.settings import GcSettings
from audioloom_stage.errors import InputMissing
from audioloom_stage.result import Result
from audioloom_storage import Entry, Location, walk


def collect(root: Location, **more: object) -> Result:
    settings = GcSettings.model_validate({"root": str(root), "older_than": "0s", **more})
    return collect_garbage("audioloom-toy gc", settings, find)


def find(root: Location, older_than: float) -> Iterator[Entry]:
    before = time.time_ns() - int(older_than * 1e9)
    yield from (entry for entry in walk(root) if entry.modified_ns <= before)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Garbage of an hour ago."""
    file = tmp_path / "lost file"
    file.write_bytes(bytes(1500))
    os.utime(file, (time.time() - 3600,) * 2)
    return file


@pytest.mark.parametrize("flags", [{}, {"dry_run": True}])
def test_nothing_is_deleted_unless_told(root: Location, old: Path, flags: dict[str, bool]) -> None:
    """What would be, and the command that does it."""
    answer = collect(root, **flags)
    assert [str(old), "would delete 1 file, 1.5 kB"] == list(answer.text)
    assert {"root": str(root), "deleted": False, "files": [str(old)], "bytes": 1500} == answer.data
    assert (f"audioloom-toy gc --root {root} --delete --older-than 0s",) == answer.next
    assert old.exists()


def test_what_is_found_is_deleted(root: Location, old: Path) -> None:
    """And nothing is left to do."""
    answer = collect(root, delete=True)
    assert [str(old), "deleted 1 file, 1.5 kB"] == list(answer.text)
    assert answer.data["deleted"]
    assert () == answer.next
    assert not old.exists()
    assert ["deleted 0 files, 0 B"] == list(collect(root, delete=True).text)


def test_what_changed_lately_stays(root: Location, old: Path) -> None:
    """A run that is at work may need it."""
    assert [] == collect(root, older_than="2h", delete=True).data["files"]
    assert old.exists()


def test_a_missing_root_is_told(root: Location) -> None:
    """An empty one has no garbage; a missing one is a mistake."""
    with pytest.raises(InputMissing):
        collect(root / "nothing")
