import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from audioloom_manifest import garbage_collection
from audioloom_manifest.garbage_collection import garbage, remove_garbage
from audioloom_manifest.receipts import Receipt, publish_receipt
from audioloom_storage import Entry, Location, PermissionDenied
from audioloom_storage import walk as storage_walk
from manifest_runs import commit_one, write


def is_ours(path: str) -> bool:
    return path in ("lost.parquet", "unit.parquet", "features/lost.parquet")


def names(root: Location, older_than: float = 0) -> list[str]:
    found = garbage(root, "features", is_ours, older_than=older_than)
    return sorted(entry.location.relative_to(root) for entry in found)


def test_unreadable_manifest_protects_everything(root: Location) -> None:
    """What a manifest names is not known when it cannot be read: nothing is garbage."""
    opened = commit_one(root, name="a").opened
    write(opened.folder, "lost.parquet", b"x")
    Path(opened.location.path).write_text("{")
    assert [] == names(root)


def test_a_closed_folder_in_a_run_does_not_end_the_search(
    root: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may keep the logs of a run closed: the other runs are gone through."""
    closed = commit_one(root, name="a").opened.folder
    write(commit_one(root, name="b").opened.folder, "lost.parquet", b"x")

    def walk(folder: Location, *, within: Location, links: bool) -> Iterator[Entry]:
        if folder == closed:
            raise PermissionDenied("permission denied", where=folder / "attempts")
        return storage_walk(folder, within=within, links=links)

    monkeypatch.setattr(garbage_collection, "walk", walk)
    assert ["features/b/lost.parquet"] == names(root)


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


TEMPORARY = ".lost.parquet.0123456789abcdef.part"


def test_temporary_files_of_an_unfinished_run_are_found(root: Location) -> None:
    """Nobody finishes them: a rerun takes names of its own."""
    folder = root / "features" / "killed"
    write(folder, "lost.parquet", b"x")
    write(folder, f"features/{TEMPORARY}", b"x")
    assert [f"features/killed/features/{TEMPORARY}"] == names(root)


@pytest.mark.parametrize(
    "path",
    [
        ".thesis.tex.0123456789abcdef.part",
        "thesis/.lost.parquet.0123456789abcdef.part",
        "features/.manifest.json.0123456789abcdef.part",
        "receipts/.thesis.tex.0123456789abcdef.part",
        "receipts/thesis/.u.json.0123456789abcdef.part",
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_temporary_files_of_others_are_not_found(
    root: Location, path: str, committed: bool
) -> None:
    """The form of a name does not make it ours: it has to be of a file that the stage writes."""
    folder = root / "features" / "a"
    if committed:
        folder = commit_one(root, name="a").opened.folder
    write(folder, path, b"x")
    assert [] == names(root)


@pytest.mark.parametrize(
    "path", ["manifest.json", "files-0123456789ab.jsonl", "receipts/u.json", "progress/0.jsonl"]
)
def test_temporary_files_of_what_is_kept_are_found(root: Location, path: str) -> None:
    """The finished file stays, whatever a manifest names; an unfinished one is of no use."""
    folder = root / "features" / "killed"
    parent, _, name = path.rpartition("/")
    write(folder, path, b"x")
    entry = write(folder, f"{parent}/.{name}.0123456789abcdef.part".removeprefix("/"), b"x")
    found = garbage(
        root, "features", is_ours, older_than=0, is_kept=lambda path: path == "progress/0.jsonl"
    )
    if path == "manifest.json":
        Path(folder.path, path).unlink()
    assert [entry.path] == [each.location.relative_to(folder) for each in found]


@pytest.mark.parametrize("path", ["NOTES.md", "thesis/lost.parquet", "lost.parquet.bak"])
def test_files_of_others_are_not_found(root: Location, path: str) -> None:
    """Nothing names them, and we do not give such names."""
    write(commit_one(root, name="a").opened.folder, path, b"x")
    assert [] == names(root)


def link(root: Location, what: str, folder: Path, elsewhere: Path) -> None:
    """Let a link lead from a run folder, or in its place, to a folder with a file of our name."""
    (elsewhere / "features").mkdir(parents=True)
    (elsewhere / "features" / "lost.parquet").write_bytes(b"victim")
    (elsewhere / "lost.parquet").write_bytes(b"victim")
    if what == "file":
        (folder / "lost.parquet").symlink_to(elsewhere / "lost.parquet")
    elif what == "nowhere":
        (folder / "lost.parquet").symlink_to(elsewhere / "nothing")
    elif what == "folder":
        (folder / "features").rename(elsewhere / "old")
        (folder / "features").symlink_to(elsewhere / "features")
    else:
        replaced = folder if what == "run" else folder.parent
        replaced.rename(elsewhere / "old")
        replaced.symlink_to(elsewhere / "old")
        Path(root.path, "features/a/lost.parquet").write_bytes(b"victim")


@pytest.mark.parametrize("what", ["file", "nowhere", "folder", "run", "runs"])
def test_links_are_neither_found_nor_followed(root: Location, tmp_path: Path, what: str) -> None:
    """Whatever they lead to: a link is none of our names."""
    folder = Path(commit_one(root, name="a").opened.folder.path)
    link(root, what, folder, tmp_path / "elsewhere")
    assert [] == names(root)


def test_a_link_that_comes_after_the_search_is_not_followed(root: Location, tmp_path: Path) -> None:
    """Between the two somebody may exchange a folder for a link."""
    folder = commit_one(root, name="a").opened.folder
    write(folder, "features/lost.parquet", b"x")
    found = list(garbage(root, "features", is_ours, older_than=0))
    elsewhere = tmp_path / "elsewhere"
    link(root, "folder", Path(folder.path), elsewhere)
    assert (1, []) == (len(found), list(remove_garbage(root, found)))
    assert b"victim" == (elsewhere / "features" / "lost.parquet").read_bytes()


def test_what_is_found_is_removed_once(root: Location) -> None:
    """Another gc may be quicker; a root that is a link itself is where the user wanted it."""
    folder = commit_one(root, name="a").opened.folder
    write(folder, "lost.parquet", b"x")
    found = list(garbage(root, "features", is_ours, older_than=0))
    assert (1, 0) == (
        len(list(remove_garbage(root, found))),
        len(list(remove_garbage(root, found))),
    )
    assert [] == names(root)


@pytest.mark.parametrize("way", ["written anew", "a link now"])
def test_what_changed_since_it_was_found_stays(root: Location, tmp_path: Path, way: str) -> None:
    """Names come from content: a try that goes on writes the same ones, and may need them."""
    folder = commit_one(root, name="a").opened.folder
    write(folder, "lost.parquet", b"x")
    lost = Path(folder.path, "lost.parquet")
    os.utime(lost, (1, 1))
    found = list(garbage(root, "features", is_ours, older_than=3600))
    lost.unlink()
    if way == "written anew":
        lost.write_bytes(b"x")
    else:
        (tmp_path / "elsewhere").write_bytes(b"x")
        os.utime(tmp_path / "elsewhere", (1, 1))
        lost.symlink_to(tmp_path / "elsewhere")
    assert (1, []) == (len(found), list(remove_garbage(root, found)))
    assert b"x" == lost.read_bytes()
