"""An archive is put in its place once, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from audioloom_environment import Environment, NotAnEnvironment, describe, find_archive, ship
from audioloom_storage import is_temporary, list_folder, locate
from audioloom_storage.testing import Crashed, CrashPlan, steps


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
    with pytest.raises(NotAnEnvironment):
        ship(tmp_path / "none", locate(tmp_path / "ships"))
    assert not (tmp_path / "ships").exists()


def test_shipped_once(prefix: Path, tmp_path: Path) -> None:
    """The second time it is found, and the environment need not even be packable any more."""
    ships = locate(tmp_path / "ships")
    first = ship(prefix, ships)
    second = ship(prefix, ships)
    assert first.uploaded
    assert not second.uploaded
    assert first.location == second.location == ships / f"{describe(prefix).digest}.tar.gz"
    assert first.size == second.size == Path(first.location.path).stat().st_size


def test_nobody_else_may_read_it(prefix: Path, tmp_path: Path) -> None:
    """Also under a umask that would let everybody; the folder is as always."""
    before = os.umask(0)
    try:
        shipped = ship(prefix, locate(tmp_path / "ships"))
    finally:
        os.umask(before)
    assert 0o600 == Path(shipped.location.path).stat().st_mode & 0o777
    assert 0o777 == (tmp_path / "ships").stat().st_mode & 0o777


def test_what_another_user_has_shipped_is_not_ours() -> None:
    """Each has an archive under a name of its own; both are found again."""
    with TemporaryDirectory() as made:
        ships, folder = locate(made), Path(made)
        folder.chmod(0o755)
        assert None is find_archive(ships, "d.tar.gz")  # imports what nobody else may read
        for name in ("d.tar.gz", "d.2.tar.gz"):
            (folder / name).write_bytes(b"theirs")
        for closed, expected in (
            ((), ships / "d.tar.gz"),
            (("d.tar.gz",), ships / "d.2.tar.gz"),
            (("d.tar.gz", "d.2.tar.gz"), None),
        ):
            for name in closed:
                (folder / name).chmod(0)
            with bound_by_permissions():
                assert expected == find_archive(ships, "d.tar.gz")
                assert find_archive(ships, "e.tar.gz") is None


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Root may read everything: be nobody for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_several_at_once_leave_one(prefix: Path, tmp_path: Path) -> None:
    """Whoever comes second answers with what the first has shipped."""
    ships = locate(tmp_path / "ships")
    described = small(prefix)
    done = []
    threads = [
        threading.Thread(target=lambda: done.append(ship(described, ships))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 3 == len(done)
    assert 1 == sum(one.uploaded for one in done)
    assert [described.name] == names(tmp_path / "ships")


def test_power_cut_at_every_step(prefix: Path, tmp_path: Path) -> None:
    """After a cut at any step the next try ends with the whole archive in its place."""
    described = small(prefix)
    with steps(tmp_path / "counter") as taken:
        ship(described, locate(tmp_path / "whole"))
    # What is written in between is alike: the first writes, and all that follows the last.
    numbers = sorted({1, 2, 3, *range(taken.count - 3, taken.count + 1)})
    for number in numbers:
        folder = tmp_path / f"ships-{number}"
        plan = CrashPlan(tmp_path / f"counter-{number}", number)
        with pytest.raises(Crashed), plan.armed():
            ship(described, locate(folder))
        assert not folder.exists() or names(folder) in ([], [described.name])
        again = ship(described, locate(folder))
        with tarfile.open(again.location.path) as tar:
            assert "bin/python" in tar.getnames()
        shutil.rmtree(folder)
