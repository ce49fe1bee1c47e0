"""An archive is put in its place once, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import structlog
from audioloom_environment import upload
from audioloom_environment.contents import Environment, describe
from audioloom_environment.upload import own_place, put_archive, put_own, ship
from audioloom_stage.errors import BadConfiguration
from audioloom_storage import (
    READ_BY_ALL,
    Location,
    PermissionDenied,
    create,
    is_temporary,
    list_folder,
    locate,
    read_bytes,
    stat,
)
from audioloom_storage_testing import Crashed, CrashPlan, steps


def names(folder: Path) -> list[str]:
    return [
        entry.location.name
        for entry in list_folder(locate(folder))
        if not is_temporary(entry.location.name)
    ]


def small(prefix: Path) -> Environment:
    """An environment without the standard library, for tests that pack again and again."""
    described = describe(prefix)
    members = tuple(
        member
        for member in described.members
        if not member.path.startswith("lib/python") or "/site-packages/" in member.path
    )
    return replace(described, members=members)


def test_nothing_appears_for_what_cannot_be_packed(tmp_path: Path) -> None:
    """A refusal leaves no folder behind."""
    with pytest.raises(BadConfiguration, match="No Python runs there"):
        ship(tmp_path / "none", locate(tmp_path / "ships"))
    assert not (tmp_path / "ships").exists()


def test_shipped_once(prefix: Path, tmp_path: Path) -> None:
    """The second time it is found, and the environment need not even be packable any more."""
    ships = locate(tmp_path / "ships")
    found = describe(prefix)
    first = put_archive(found, ships, found.name)
    before = stat(first[0])
    assert (ships / f"{found.digest}.tar.gz", True) == first
    assert (first[0], False) == put_archive(found, ships, found.name)
    assert first[0] == ship(prefix, ships)
    assert before == stat(first[0])


def test_every_node_may_fetch_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDFS keeps more copies of an environment than of other files."""
    asked: list[int | None] = []

    def noted(where: Location, **options: Any) -> AbstractContextManager[BinaryIO]:
        asked.append(options["replication"])
        return create(where, **options)

    monkeypatch.setattr(upload.storage, "create", noted)
    put_own(locate(tmp_path), "a.tar.gz", lambda file: None)
    assert [READ_BY_ALL] == asked


def test_nobody_else_may_read_it(prefix: Path, tmp_path: Path) -> None:
    """Also under a umask that would let everybody; the folder is as always."""
    before = os.umask(0)
    try:
        shipped = ship(prefix, locate(tmp_path / "ships"))
    finally:
        os.umask(before)
    assert 0o600 == Path(shipped.path).stat().st_mode & 0o777
    assert 0o777 == (tmp_path / "ships").stat().st_mode & 0o777


@dataclass(frozen=True)
class Planting:
    """How a file comes to lie under a name that others can guess.

    Args:
        mode: its permissions.
        theirs: another user's.
        linked: it is a link, to a file (True) or to nothing (False).
    """

    mode: int = 0o644
    theirs: bool = False
    linked: bool | None = None

    def do(self, file: Path) -> None:
        """Put it there."""
        if self.linked is not None:
            file.symlink_to(file.with_name("other") if self.linked else "nowhere")
            file.with_name("other").write_bytes(b"other")
            return
        file.write_bytes(b"planted")
        file.chmod(self.mode)
        if self.theirs:
            os.chown(file, 65534, -1)


PLANTINGS = {
    "theirs, which we may read": Planting(theirs=True),
    "theirs, which everybody may write": Planting(0o666, theirs=True),
    "theirs alone": Planting(0o600, theirs=True),
    "ours, which its group may write": Planting(0o660),
    "ours, which everybody may write": Planting(0o602),
    "a link to a file": Planting(linked=True),
    "a link to nothing": Planting(linked=False),
}


@pytest.mark.parametrize("what", PLANTINGS)
def test_what_another_user_put_there_or_could_write_is_not_ours(tmp_path: Path, what: str) -> None:
    """It stays as it is; ours gets a name of its own, by which it is found again."""
    planting = PLANTINGS[what]
    if planting.theirs and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    ships, planted = locate(tmp_path), [tmp_path / "d.tar.gz", tmp_path / "d.2.tar.gz"]
    assert (ships / "d.tar.gz", False) == own_place(ships, "d.tar.gz")
    for file in planted:
        planting.do(file)
    before = [file.lstat() for file in planted]
    ours = ships / "d.3.tar.gz"
    assert (ours, False) == own_place(ships, "d.tar.gz")
    assert (ours, True) == put_own(ships, "d.tar.gz", lambda file: file.write(b"ours"))
    assert (ours, False) == put_own(ships, "d.tar.gz", lambda file: file.write(b"again"))
    assert (ours, True) == own_place(ships, "d.tar.gz")
    assert (b"ours", 0o600) == (read_bytes(ours, limit=9), Path(ours.path).stat().st_mode & 0o777)
    assert before == [file.lstat() for file in planted]


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_a_folder_where_others_may_replace_files_is_told(tmp_path: Path, mode: int) -> None:
    """When something is put there, and when it is found."""
    folder = tmp_path / "ships"
    folder.mkdir()
    folder.chmod(mode)
    for _ in range(2):
        with structlog.testing.capture_logs() as said:
            put_own(locate(folder), "d.tar", lambda file: file.write(b"ours"))
        warned = [each["folder"] for each in said if each["log_level"] == "warning"]
        assert ([str(folder)] if mode == 0o777 else []) == warned


def test_a_folder_below_one_that_others_may_write_is_told(tmp_path: Path) -> None:
    """They rename it away, and put their own in its place."""
    tmp_path.chmod(0o777)
    with structlog.testing.capture_logs() as said:
        put_own(locate(tmp_path / "ships"), "d.tar", lambda file: file.write(b"ours"))
    assert [str(tmp_path / "ships")] == [each["folder"] for each in said if "hint" in each]


def test_a_storage_that_keeps_no_owners_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On it every run would put another copy beside those that it does not know for its own."""
    monkeypatch.setattr(upload.storage, "is_own", lambda location: not stat(location))
    with pytest.raises(PermissionDenied, match="keeps owners"):
        put_own(locate(tmp_path), "d.tar", lambda file: file.write(b"ours"))
    assert [] == list(tmp_path.iterdir())


def test_several_at_once_leave_one(prefix: Path, tmp_path: Path) -> None:
    """Whoever comes second answers with what the first has shipped."""
    ships = locate(tmp_path / "ships")
    described = small(prefix)
    done = []
    threads = [
        threading.Thread(target=lambda: done.append(put_archive(described, ships, described.name)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 3 == len(done)
    assert 1 == sum(put_now for _, put_now in done)
    assert [described.name] == names(tmp_path / "ships")


@pytest.mark.parametrize(
    ("first", "last"), [((2,), 3), pytest.param((1, 2, 3), 4, marks=pytest.mark.slow)]
)
def test_power_cut_at_every_step(
    prefix: Path, tmp_path: Path, first: tuple[int, ...], last: int
) -> None:
    """After a cut at any step the next try ends with the whole archive in its place."""
    described = small(prefix)
    with steps(tmp_path / "counter") as taken:
        put_archive(described, locate(tmp_path / "whole"), described.name)
    # What is written in between is alike: the first writes, and all that follows the last.
    numbers = sorted({*first, *range(taken.count - last + 1, taken.count + 1)})
    for number in numbers:
        folder = tmp_path / f"ships-{number}"
        plan = CrashPlan(tmp_path / f"counter-{number}", number)
        with pytest.raises(Crashed), plan.armed():
            put_archive(described, locate(folder), described.name)
        assert not folder.exists() or names(folder) in ([], [described.name])
        again, _ = put_archive(described, locate(folder), described.name)
        with tarfile.open(again.path) as tar:
            assert "bin/python" in tar.getnames()
        shutil.rmtree(folder)
