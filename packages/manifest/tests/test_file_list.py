import hashlib
import json
from pathlib import Path

import pytest
from audioloom_manifest.envelope import FileEntry, files_name
from audioloom_manifest.errors import MalformedManifest, MissingFile, WrongChecksum
from audioloom_manifest.file_list import (
    check_file,
    check_files,
    files_list,
    parse_list,
    read_file,
    read_list,
)
from audioloom_manifest.reader import read_manifest
from audioloom_storage import Location, create
from manifest_runs import commit_one, write


def test_missing_short_and_changed_files_are_named(root: Location) -> None:
    """Each data file that is not what its entry says has its own error and its path."""
    entries = [write(root, name, b"12345678") for name in ("gone", "short", "changed", "good")]
    Path(root.path, "gone").unlink()
    Path(root.path, "short").write_bytes(b"1234")
    Path(root.path, "changed").write_bytes(b"12345679")
    problems = {Path(found.where).name: type(found) for found in check_files(root, entries)}
    assert {"gone": MissingFile, "short": WrongChecksum, "changed": WrongChecksum} == problems


def test_size_alone_does_not_read_the_content(root: Location) -> None:
    """With content=False a changed byte goes unnoticed: the caller asked for sizes."""
    entry = write(root, "a", b"12345678")
    Path(root.path, "a").write_bytes(b"12345679")
    check_file(root, entry, content=False)


def test_a_file_is_read_if_it_is_what_its_entry_says(root: Location) -> None:
    """Longer, changed or missing it is refused, and no more than its size is read."""
    entry = write(root, "a", b"12345678")
    assert b"12345678" == read_file(root, entry)
    for wrong in (b"123456789", b"12345679", b""):
        Path(root.path, "a").write_bytes(wrong)
        with pytest.raises(WrongChecksum, match="SHA-256"):
            read_file(root, entry)
    Path(root.path, "a").unlink()
    with pytest.raises(MissingFile):
        read_file(root, entry)


def test_changed_list_is_refused(root: Location) -> None:
    """The list of files is guarded by the manifest's checksum."""
    opened = commit_one(root).opened
    name = Path(opened.folder.path, opened.manifest.files.name)
    name.write_bytes(name.read_bytes().replace(b'"records":1', b'"records":2'))
    with pytest.raises(WrongChecksum, match="SHA-256"):
        read_manifest(opened.folder)


def test_missing_list_is_refused(root: Location) -> None:
    """Without its list a manifest names nothing."""
    opened = commit_one(root).opened
    Path(opened.folder.path, opened.manifest.files.name).unlink()
    with pytest.raises(MissingFile):
        read_manifest(opened.folder)


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a//b", "a/./b", "a\\b", "file:///x", "a\nb", "", "C:x", "a/..", "a\x7f"]
)
def test_entry_that_leaves_the_folder_is_refused_with_its_line(path: str) -> None:
    """A data file's path stays inside its folder, whatever it is spelled like."""
    data, ref = files_list([FileEntry(path="good", bytes=0, sha256="0" * 64, role="x")])
    data = data.replace(b'"good"', json.dumps(path).encode())
    with pytest.raises(MalformedManifest, match="line 1"):
        list(parse_list(data, ref, where="list"))


def test_same_path_twice_is_refused() -> None:
    """A list names each file once."""
    entry = FileEntry(path="a", bytes=0, sha256="0" * 64, role="x")
    with pytest.raises(ValueError, match="twice"):
        files_list([entry, entry])


@pytest.mark.parametrize(
    ("lines", "count", "what"),
    [
        ("aab", 3, "line 2: expected a path after 'a', found 'a'"),
        ("ba", 2, "line 2: expected a path after 'b', found 'a'"),
        ("ab", 3, "expected 3 lines"),
        ("ab", 1, "expected 1 lines"),
    ],
)
def test_list_of_other_files_than_its_manifest_counts_is_refused(
    lines: str, count: int, what: str
) -> None:
    """Each path once, in order, and as many as the manifest says."""
    one = FileEntry(path="?", bytes=0, sha256="0" * 64, role="x")
    data, ref = files_list([one])
    data = b"".join(data.replace(b"?", path.encode()) for path in lines)
    with pytest.raises(MalformedManifest, match=what):
        list(parse_list(data, ref.model_copy(update={"count": count}), where="list"))


def test_list_reads_back_sorted(root: Location) -> None:
    """Entries come back in path order, whatever order they were given in."""
    entries = [write(root, name, name.encode()) for name in ("b", "c", "a")]
    data, ref = files_list(entries)
    with create(root / ref.name) as sink:
        sink.write(data)
    assert data == read_list(root, ref)
    expected = sorted(entries, key=lambda entry: entry.path)
    assert expected == list(parse_list(data, ref, where="list"))


def test_list_of_another_size_is_refused(root: Location) -> None:
    """No more is read than the manifest says."""
    data, ref = files_list([write(root, "a", b"a")])
    with create(root / ref.name) as sink:
        sink.write(data + b"\n")
    with pytest.raises(WrongChecksum, match=f"expected {len(data)} bytes with SHA-256"):
        read_list(root, ref)


def test_list_has_the_name_of_its_digest() -> None:
    """So that a try which died cannot collide with a later one."""
    data, ref = files_list([])
    assert files_name(hashlib.sha256(data).hexdigest()) == ref.name
    with pytest.raises(ValueError, match=f"is called {ref.name}"):
        type(ref).model_validate({**ref.model_dump(), "name": files_name("0" * 64)})
