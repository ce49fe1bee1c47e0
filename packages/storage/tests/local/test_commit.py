from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from audioloom_storage import (
    AlreadyExists,
    IsAFolder,
    Location,
    PermissionDenied,
    Unavailable,
    UnknownOutcome,
    exists,
    is_temporary,
    list_folder,
    publish,
    read_bytes,
    remove,
)
from audioloom_storage.local import commit as moves

LINK = os.link


def names(folder: Location) -> list[str]:
    """What lies in a folder."""
    return [entry.location.name for entry in list_folder(folder)]


def failing_link(number: int, *, after: bool = False) -> Callable[..., None]:
    """A hard link that answers an error, before or after it was made."""

    def link(*args: object, **keywords: object) -> None:
        if after:
            LINK(*args, **keywords)  # type: ignore[arg-type]
        raise OSError(number, os.strerror(number))

    return link


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK])
def test_without_hard_links_files_are_renamed(
    here: Location, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """FAT, exFAT and many user-space file systems answer so: publishing works all the same."""
    monkeypatch.setattr(os, "link", failing_link(number))
    monkeypatch.setattr(moves, "WAYS", moves.WAYS[:2])
    publish(here / "m.json", b"first")
    with pytest.raises(AlreadyExists):
        publish(here / "m.json", b"second")
    assert b"first" == read_bytes(here / "m.json", limit=9)
    assert ["m.json"] == names(here)


def test_a_file_system_that_knows_no_way_is_named(
    here: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than to publish by a way that may replace."""
    monkeypatch.setattr(os, "link", failing_link(errno.EPERM))
    monkeypatch.setattr(moves, "WAYS", moves.WAYS[:1])
    with pytest.raises(Unavailable, match="another file system"):
        publish(here / "m.json", b"")
    assert [] == names(here)


@pytest.mark.parametrize("number", [errno.EEXIST, errno.EIO, errno.ETIMEDOUT, errno.ENOENT])
def test_a_link_that_landed_in_spite_of_its_error(
    here: Location, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A lost answer on NFS: the client asks again and is told that the name exists. It is ours."""
    monkeypatch.setattr(os, "link", failing_link(number, after=True))
    publish(here / "m.json", b"ours")
    assert b"ours" == read_bytes(here / "m.json", limit=9)
    assert ["m.json"] == names(here)


@pytest.mark.parametrize("number", [errno.EIO, errno.ETIMEDOUT, errno.ESTALE])
def test_a_failure_that_tells_nothing_is_unknown(
    here: Location, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It may yet land: the outcome has a name of its own, and nothing is deleted."""
    monkeypatch.setattr(os, "link", failing_link(number))
    with pytest.raises(UnknownOutcome, match="Check whether it is there") as caught:
        publish(here / "m.json", b"ours")
    assert str(here / "m.json") == caught.value.where
    (left,) = names(here)
    assert is_temporary(left)
    assert b"ours" == read_bytes(here / left, limit=9)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_refusal_is_no_failure(
    here: Location, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The system says that it did nothing: safe to try again, and nothing is left."""
    monkeypatch.setattr(os, "link", failing_link(number))
    with pytest.raises((Unavailable, PermissionDenied)):
        publish(here / "m.json", b"")
    assert [] == names(here)


@pytest.mark.parametrize("blind", [errno.EIO, errno.ETIMEDOUT])
def test_a_look_that_fails_tells_nothing(
    here: Location, monkeypatch: pytest.MonkeyPatch, blind: int
) -> None:
    """The name exists, but whose file has it? Perhaps ours."""
    refuse = failing_link(errno.EEXIST)

    def lstat(path: str) -> os.stat_result:
        raise OSError(blind, os.strerror(blind), path)

    def link(*names: str, **options: object) -> None:
        patched.setattr(os, "lstat", lstat)  # blind from here on: writing looks before, too
        refuse(*names, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", link)
        with pytest.raises(UnknownOutcome):
            publish(here / "m.json", b"")


def test_a_failure_on_a_name_that_another_took(
    here: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the error was: ours did not land, and cannot any more."""

    def link(source: str, target: str, **_: object) -> None:
        Path(target).write_bytes(b"theirs")
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(AlreadyExists):
        publish(here / "m.json", b"ours")
    assert b"theirs" == read_bytes(here / "m.json", limit=9)


def test_names_that_may_not_be_on_disk_are_unknown(
    here: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has its name now, but a power cut may undo that."""

    def fail(folder: Location) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(moves, "keep_names", fail)
    with pytest.raises(UnknownOutcome):
        publish(here / "m.json", b"ours")
    assert b"ours" == read_bytes(here / "m.json", limit=9)


def test_a_temporary_name_that_cannot_be_removed_is_left(
    here: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has landed; gc finds the rest."""

    def fail(path: str, **_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fail)
        publish(here / "m.json", b"ours")
    assert [True, False] == [is_temporary(name) for name in names(here)]
    assert b"ours" == read_bytes(here / "m.json", limit=9)


@pytest.fixture
def by_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows neither hard links nor how to rename without replacing."""
    monkeypatch.setattr(moves, "WAYS", moves.WAYS[2:])
    monkeypatch.setattr(moves, "CLAIM_SECONDS", 0.0)


def test_a_claim_of_a_dead_writer_blocks_by_name(here: Location, by_claim: None) -> None:
    """The name stays free, the error says what to remove, gc knows it, and then it works."""
    claim = here / ".m.json.0000000000000000.part"
    Path(claim.path).touch()
    with pytest.raises(Unavailable, match="remove ") as caught:
        publish(here / "m.json", b"ours")
    assert claim.path in caught.value.hint
    assert [claim.name] == names(here)
    assert is_temporary(claim.name)
    remove(claim)
    publish(here / "m.json", b"ours")
    assert ["m.json"] == names(here)


def test_a_claim_on_a_taken_name_does_not_matter(here: Location, by_claim: None) -> None:
    """Whoever died there: the name is taken, and that is the answer."""
    Path((here / ".m.json.0000000000000000.part").path).touch()
    Path((here / "temporary").path).touch()
    Path((here / "m.json").path).mkdir()
    with pytest.raises(IsAFolder):
        moves.commit(here / "temporary", here / "m.json")
    assert exists(here / "temporary")
