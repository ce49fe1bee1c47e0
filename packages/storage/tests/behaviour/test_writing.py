from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable

import pytest
from audioloom_storage import (
    AlreadyExists,
    IsAFolder,
    Location,
    NotAFolder,
    NotFound,
    Unavailable,
    UnsafePath,
    create,
    exists,
    is_temporary,
    list_folder,
    locate,
    make_folder,
    publish,
    read_bytes,
    remove,
    remove_empty_folder,
    remove_tree,
    walk,
)

# An object store has no temporary names, and one name may be that of a file and of a folder.
WITH_NAMES = pytest.mark.parametrize(
    "place",
    ["local", "local-without-links", "local-without-any", "memory", "hdfs", "webhdfs"],
    indirect=True,
)


def names(folder: Location) -> list[str]:
    """What lies anywhere below, temporary or not."""
    return [entry.location.relative_to(folder) for entry in walk(folder)]


def test_nothing_is_replaced(folder: Location) -> None:
    """A second publish is refused, and leaves the first as it was, and no temporary file."""
    publish(folder / "m.json", b"first")
    with pytest.raises(AlreadyExists) as caught:
        publish(folder / "m.json", b"second")
    assert str(folder / "m.json") == caught.value.where
    assert b"first" == read_bytes(folder / "m.json", limit=99)
    assert ["m.json"] == names(folder)


def test_what_appears_while_writing_is_not_replaced(folder: Location) -> None:
    """The move itself refuses: looking before is only to save the work."""
    with pytest.raises(AlreadyExists), create(folder / "m.json") as file:  # noqa: PT012
        file.write(b"slow")
        publish(folder / "m.json", b"fast")
    assert b"fast" == read_bytes(folder / "m.json", limit=99)
    assert ["m.json"] == names(folder)


def test_a_folder_is_no_target(folder: Location) -> None:
    """Neither replaced nor moved into, as an older rename of HDFS does."""
    publish(folder / "m.json/inside", b"kept")
    with pytest.raises(IsAFolder):
        publish(folder / "m.json", b"new")
    assert ["m.json/inside"] == names(folder)


@WITH_NAMES
def test_an_empty_folder_that_appears_while_writing_is_no_target(folder: Location) -> None:
    """A plain rename would replace it."""
    with pytest.raises(IsAFolder), create(folder / "m.json") as file:  # noqa: PT012
        make_folder(folder / "m.json")
        file.write(b"new")
    assert [("m.json", True)] == [(e.location.name, e.is_folder) for e in list_folder(folder)]


def test_the_root_is_no_target(folder: Location) -> None:
    """It is a folder as well."""
    with pytest.raises(IsAFolder):
        publish(locate(folder.uri.removesuffix(folder.path) + "/"), b"")


def test_a_file_is_no_folder(folder: Location) -> None:
    """Nothing is written below a file, and no folder made there or in its place."""
    publish(folder / "file", b"")
    for refused in (
        lambda: publish(folder / "file/below", b""),
        lambda: make_folder(folder / "file"),
        lambda: make_folder(folder / "file/below/deeper"),
    ):
        with pytest.raises(NotAFolder):
            refused()
    assert ["file"] == names(folder)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_the_block_leaves_nothing(
    folder: Location, error: type[BaseException]
) -> None:
    """Not even Ctrl-C leaves a part of a file, under any name."""
    with pytest.raises(error), create(folder / "data") as file:  # noqa: PT012
        file.write(b"x" * 3_000_000)
        raise error
    assert [] == names(folder)


@pytest.mark.parametrize(
    "place",  # over webhdfs nobody sees the file before it is complete
    ["local", "local-without-links", "local-without-any", "memory", "hdfs"],
    indirect=True,
)
def test_an_unfinished_file_that_is_removed_is_no_missing_input(folder: Location) -> None:
    """Nothing landed, and the writer may try again: gc was too quick, and no input is missing."""
    with pytest.raises(Unavailable), create(folder / "file") as file:  # noqa: PT012
        file.write(b"x")
        file.flush()
        (unfinished,) = list_folder(folder)
        remove(unfinished.location)
    assert [] == list(list_folder(folder))
    publish(folder / "file", b"x")


@WITH_NAMES
def test_nothing_appears_before_the_end(folder: Location) -> None:
    """While a file is written, its name is free, and one temporary name lies beside it."""
    with create(folder / "data") as file:
        file.write(b"x" * 3_000_000)
        assert not exists(folder / "data")
        (temporary,) = names(folder)
        assert is_temporary(temporary)
        assert temporary.startswith(".data.")
    assert ["data"] == names(folder)


def test_writing_counts_but_does_not_seek(folder: Location) -> None:
    """Storage appends: who needs to seek is told so, and not answered with a torn file."""
    with create(folder / "data") as file:
        assert 5 == file.write(memoryview(b"12345"))
        assert 5 == file.tell()
        assert (False, False, True) == (file.seekable(), file.readable(), file.writable())
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
        file.write(b"x" * 5_000_000)
        assert 5_000_005 == file.tell()
    assert 5_000_005 == len(read_bytes(folder / "data", limit=10**7))


def test_wrappers_may_close_the_file(folder: Location) -> None:
    """Text, zip and Arrow writers close what they wrap; the file appears all the same."""
    with create(folder / "text") as file, io.TextIOWrapper(file, "utf-8") as text:
        text.write("Grüße")
    assert "Grüße".encode() == read_bytes(folder / "text", limit=99)
    with create(folder / "zip") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("member", b"content")
    packed = io.BytesIO(read_bytes(folder / "zip", limit=999))
    assert b"content" == zipfile.ZipFile(packed).read("member")


def test_a_closed_file_is_still_discarded(folder: Location) -> None:
    """Closing is not the commit: the end of the block is."""
    with pytest.raises(ValueError, match="late"), create(folder / "data") as file:  # noqa: PT012
        file.close()
        raise ValueError("late")
    assert [] == names(folder)


def test_a_reader_never_sees_a_part(folder: Location) -> None:
    """Somebody who polls for a file gets nothing, or all of it."""
    sizes: set[int] = set()
    done = threading.Event()

    def poll() -> None:
        last = False
        while not last:
            last = done.is_set()
            for number in range(20):
                try:
                    sizes.add(len(read_bytes(folder / f"{number}", limit=10**7)))
                except NotFound:
                    continue

    reader = threading.Thread(target=poll)
    reader.start()
    for number in range(20):
        publish(folder / f"{number}", b"x" * 2_000_000)
    done.set()
    reader.join()
    assert {2_000_000} == sizes


def test_make_folder_makes_parents_and_may_be_repeated(folder: Location) -> None:
    """Two stages may both make sure of a folder."""
    make_folder(folder / "a/b/c")
    make_folder(folder / "a/b/c")
    make_folder(folder)
    assert ["a"] == [entry.location.name for entry in list_folder(folder)]


def test_remove_takes_files_only(folder: Location) -> None:
    """A folder is refused, a file goes once."""
    publish(folder / "a/file", b"")
    with pytest.raises(IsAFolder):
        remove(folder / "a")
    remove(folder / "a/file")
    with pytest.raises(NotFound):
        remove(folder / "a/file")


def test_remove_tree_takes_folders_only(folder: Location) -> None:
    """A file and nothing at all are refused; a folder goes with all it holds."""
    for name in ("a/1", "a/b/2", "a/b/c/3", "ab/kept"):
        publish(folder / name, b"")
    make_folder(folder / "a/empty")
    with pytest.raises(NotAFolder):
        remove_tree(folder / "a/1")
    with pytest.raises(NotFound):
        remove_tree(folder / "nothing")
    remove_tree(folder / "a")
    assert ["ab/kept"] == names(folder)


def test_remove_empty_folder_takes_what_holds_nothing(folder: Location) -> None:
    """A file is refused; a folder that holds a file or a folder stays, and an empty one goes."""
    publish(folder / "a/file", b"")
    make_folder(folder / "b/empty")
    with pytest.raises(NotAFolder):
        remove_empty_folder(folder / "a/file")
    kept = [remove_empty_folder(folder / name, within=folder) for name in ("a", "b", "nothing/x")]
    assert [False, False, False] == kept
    assert (["a/file"], True) == (names(folder), exists(folder / "b/empty"))
    assert remove_empty_folder(folder / "b/empty", within=folder)
    assert not remove_empty_folder(folder / "b/empty")
    assert remove_empty_folder(folder / "b")
    assert ["a"] == [entry.location.name for entry in list_folder(folder)]


@pytest.mark.parametrize("remover", [remove_tree, remove_empty_folder])
def test_the_root_is_never_removed(folder: Location, remover: Callable[[Location], object]) -> None:
    """Whatever a manifest says."""
    with pytest.raises(UnsafePath):
        remover(locate(folder.uri.removesuffix(folder.path) + "/"))
