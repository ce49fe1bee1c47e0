from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from audioloom_storage import (
    IsAFolder,
    Location,
    NotAFolder,
    NotConfigured,
    NotFound,
    Unavailable,
    UnsafePath,
    list_folder,
    locate,
    make_folder,
    open_read,
    publish,
    read_bytes,
    remove,
    remove_empty_folder,
    remove_tree,
    stat,
    walk,
)
from audioloom_storage_testing.web_server import running_web

DATA = bytes(range(256)) * 8192


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Location]:
    """A web server with a few files."""
    for name in ("a.wav", "sub/b c%20d.wav", "sub/é#?.wav", "sub/empty/e.wav", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(DATA)
    os.utime(tmp_path / "a.wav", (1_700_000_000, 1_700_000_000))
    with running_web(tmp_path) as address:
        yield locate(address)


def test_a_site_is_walked_and_read(web: Location) -> None:
    """By its pages of links, with names of any letters."""
    found = {each.location.relative_to(web): each.size for each in walk(web)}
    names = {"a.wav", "sub/b c%20d.wav", "sub/é#?.wav", "sub/empty/e.wav", ".hidden"}
    assert dict.fromkeys(names, len(DATA)) == found
    for name in names:
        assert DATA == read_bytes(web / name, limit=len(DATA))


def test_ranges_are_read(web: Location) -> None:
    """Decoders jump."""
    with open_read(web / "a.wav") as file:
        file.seek(1_000_001)
        assert DATA[1_000_001:1_000_101] == file.read(100)
        file.seek(-3, os.SEEK_END)
        assert DATA[-3:] == file.read()


def test_a_file_that_was_opened_before_a_fork_is_read_on(web: Location) -> None:
    """With a connection of the fork's own: the event loop of fsspec does not outlive a fork."""
    with open_read(web / "a.wav") as file:
        assert DATA[:10] == file.read(10)
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                file.seek(1_000_001)
                os._exit(file.read(100) != DATA[1_000_001:1_000_101])
            os._exit(2)
        assert 0 == os.waitpid(child, 0)[1]
        assert DATA[10:] == file.read()


def test_times_and_kinds(web: Location) -> None:
    """A file has the time that the server tells, a page of links is a folder."""
    assert 1_700_000_000 * 10**9 == stat(web / "a.wav").modified_ns
    assert stat(web / "sub").is_folder
    with pytest.raises(NotFound):
        stat(web / "none")
    with pytest.raises(IsAFolder):
        open_read(web / "sub")
    with pytest.raises(NotAFolder):
        list_folder(web / "a.wav")


def test_a_server_without_ranges_is_refused(tmp_path: Path) -> None:
    """A whole file for each range would be as large as its owner likes."""
    (tmp_path / "a.wav").write_bytes(DATA)
    with (
        running_web(tmp_path, ranges=False) as address,
        open_read(locate(address) / "a.wav") as file,
    ):
        assert DATA[:100] == file.read(100)
        file.seek(1_000_000)
        with pytest.raises(Unavailable, match="range"):
            file.read(100)


def test_nothing_is_written(web: Location) -> None:
    """A web server is a source."""
    for change in (
        lambda: publish(web / "new", b""),
        lambda: make_folder(web / "new"),
        lambda: remove(web / "a.wav"),
        lambda: remove_tree(web / "sub"),
        lambda: remove_empty_folder(web / "sub"),
    ):
        with pytest.raises(NotConfigured, match="only read here"):
            change()


def test_a_server_that_is_not_there() -> None:
    """Is no missing file."""
    with pytest.raises(Unavailable, match="no answer"):
        stat(locate("http://127.0.0.1:9/a"))


@pytest.mark.parametrize("text", ["https://host/a?X-Amz-Signature=1", "http://host/#a"])
def test_a_query_may_be_a_key(text: str) -> None:
    """It would be recorded in the manifest."""
    with pytest.raises(UnsafePath) as caught:
        locate(text)
    assert "Signature=1" not in str(caught.value)


def test_a_user_is_refused() -> None:
    """As on every storage."""
    with pytest.raises(UnsafePath) as caught:
        locate("http://me:secret@host/a")
    assert "secret" not in str(caught.value)
