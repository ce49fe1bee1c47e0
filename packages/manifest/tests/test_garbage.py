from pathlib import Path

from audioloom_manifest import Receipt, garbage, publish_receipt
from audioloom_storage import Location

from .conftest import commit_one, write


def names(root: Location, older_than: float = 0) -> list[str]:
    found = garbage(root, "features", older_than=older_than)
    return sorted(entry.location.relative_to(root) for entry in found)


def test_unreadable_manifest_protects_everything(root: Location) -> None:
    """What a manifest names is not known when it cannot be read: nothing is garbage."""
    opened = commit_one(root, name="a").opened
    write(opened.folder, "lost.parquet", b"x")
    Path(opened.location.path).write_text("{")
    assert [] == names(root)


def test_young_files_may_belong_to_a_running_try(root: Location) -> None:
    """Nothing written within the time given is garbage."""
    write(commit_one(root, name="a").opened.folder, "lost.parquet", b"x")
    assert [] == names(root, older_than=3600)


def test_run_without_a_manifest_keeps_its_units(root: Location) -> None:
    """What a rerun goes on from is kept; leftovers of broken writes are not."""
    folder = root / "features" / "killed"
    entry = write(folder, "unit.parquet", b"x")
    publish_receipt(folder, Receipt(unit="u", attempt="a", files=(entry,)))
    assert [] == names(root)


def test_committed_run_keeps_what_is_named(root: Location) -> None:
    """Files that nothing names are found; named ones, the list and receipts are not."""
    folder = commit_one(root, name="a").opened.folder
    entry = write(folder, "features/lost.parquet", b"x")
    publish_receipt(folder, Receipt(unit="u", attempt="a", files=(entry,)))
    assert ["features/a/features/lost.parquet"] == names(root)
