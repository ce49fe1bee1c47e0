from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from audioloom_storage import (
    Location,
    NotFound,
    PermissionDenied,
    is_guarded,
    is_own,
    is_private,
    is_shared,
    is_temporary,
    list_folder,
    locate,
    make_folder,
    publish,
    share,
)
from audioloom_storage.hdfs import client as hdfs_client
from audioloom_storage.registry import backend_of
from storage_place import Place

TRY = """
import sys
from audioloom_storage import locate, read_bytes, share
file = locate(sys.argv[1])
print(read_bytes(file, limit=9))
try:
    share(file.parent / "theirs")
except Exception as error:
    print(type(error).__name__)
"""


@pytest.fixture
def everybodys(place: Place) -> Iterator[Location]:
    """An empty folder that all may enter: those of pytest are closed on a disk."""
    if place.cluster is not None:
        yield place.folder
        return
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield locate(folder)


def test_what_is_not_there_is_neither(place: Place) -> None:
    """And cannot be shared."""
    for question in (is_shared, is_private, is_own, is_guarded, share):
        with pytest.raises(NotFound):
            question(place.folder / "nothing")


def test_a_folder_that_nobody_enters_is_named(place: Place) -> None:
    """Before the file is changed: to open folders is their owner's affair."""
    make_folder(place.folder / "closed", private=True)
    file = place.folder / "closed/file"
    publish(file, b"code", private=True)
    with pytest.raises(PermissionDenied, match=r"lets nobody else through \(7[05][05]\)"):
        share(file)
    assert is_private(file)


def test_a_shared_file_is_everybodys(place: Place, everybodys: Location) -> None:
    """It may be shared twice."""
    file = everybodys / "file"
    publish(file, b"code", private=True)
    assert (True, False) == (is_private(file), is_shared(file))
    share(file)
    share(file)
    assert (False, True) == (is_private(file), is_shared(file))
    assert 0o644 == place.mode(file)


@pytest.mark.parametrize("place", ["hdfs", "webhdfs"], indirect=True)
def test_another_user_reads_it_and_shares_nothing(place: Place) -> None:
    """What is shared is read by all, and only its owner decides that."""
    publish(place.folder / "mine", b"code", private=True)
    publish(place.folder / "theirs", b"code", private=True)
    share(place.folder / "mine")
    ran = subprocess.run(
        [sys.executable, "-c", TRY, (place.folder / "mine").uri],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HADOOP_USER_NAME": "nobody"},
    )
    assert ["b'code'", "PermissionDenied"] == ran.stdout.splitlines()


def give_away(place: Place, location: Location, mode: str, user: str = "65534") -> None:
    """Another user's from now on, as only root or a NameNode's own user can do."""
    if place.cluster is None:
        os.chown(location.path, int(user), -1)
        Path(location.path).chmod(int(mode, 8))
        return
    from hdfs_native import Client

    client = Client(str(place.cluster.hdfs))
    client.set_owner(location.path, owner=user)
    client.set_permission(location.path, int(mode, 8))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("mode", ["600", "644", "666"])
def test_what_another_user_has_is_not_own(place: Place, mode: str) -> None:
    """Whatever they let us do with it."""
    file = place.folder / "planted"
    publish(file, b"code", private=True)
    assert is_own(file)
    give_away(place, file, mode)
    assert not is_own(file)


@pytest.mark.parametrize(
    ("mode", "own"), [(0o600, True), (0o644, True), (0o660, False), (0o602, False)]
)
def test_what_others_may_write_is_not_own(place: Place, mode: int, own: bool) -> None:
    """The group or everybody; to read it is no harm."""
    file = place.folder / "file"
    publish(file, b"code", private=True)
    backend_of(file).set_permissions(file, mode)
    assert own == is_own(file)
    assert [file] == [entry.location for entry in list_folder(place.folder)]


@pytest.mark.parametrize("leads", ["nowhere", "to a file of ours"])
def test_a_link_is_not_own(here: Location, leads: str) -> None:
    """Whoever has it may let it lead elsewhere a moment later."""
    if leads != "nowhere":
        publish(here / "ours", b"code", private=True)
    Path(here.path, "link").symlink_to("ours")
    assert not is_own(here / "link")


@pytest.mark.parametrize(
    ("mode", "guarded"), [(0o755, True), (0o1777, True), (0o775, False), (0o777, False)]
)
def test_in_a_guarded_folder_nobody_replaces_a_file(place: Place, mode: int, guarded: bool) -> None:
    """Others may not write it, or nothing but what is theirs."""
    make_folder(place.folder / "folder")
    backend_of(place.folder).set_permissions(place.folder / "folder", mode)
    assert guarded == is_guarded(place.folder / "folder")


@pytest.mark.parametrize(("mode", "guarded"), [(0o755, True), (0o1777, True), (0o777, False)])
def test_a_folder_that_can_be_replaced_is_not_guarded(
    place: Place, mode: int, guarded: bool
) -> None:
    """Whoever may write a folder above it renames it away, with all that it holds."""
    make_folder(place.folder / "above/between/folder")
    backend_of(place.folder).set_permissions(place.folder / "above", mode)
    assert guarded == is_guarded(place.folder / "above/between/folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_below_one_of_another_user_is_not_guarded(place: Place) -> None:
    """They may rename it, and let others write beside it whenever they like."""
    make_folder(place.folder / "theirs/folder")
    give_away(place, place.folder / "theirs", "755")
    assert not is_guarded(place.folder / "theirs/folder")


def test_a_folder_behind_a_link_is_not_guarded(here: Location) -> None:
    """What lies above the folder to which it leads is not looked at."""
    make_folder(here / "real/folder")
    Path(here.path, "link").symlink_to("real")
    assert (True, False) == (is_guarded(here / "real/folder"), is_guarded(here / "link/folder"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_not_guarded(place: Place) -> None:
    """A sticky bit does not hold its owner."""
    make_folder(place.folder / "folder")
    give_away(place, place.folder / "folder", "1777")
    assert not is_guarded(place.folder / "folder")


@pytest.mark.parametrize("place", ["hdfs", "webhdfs"], indirect=True)
def test_a_user_is_whom_the_cluster_takes_them_for(place: Place) -> None:
    """Beside what others have, and where no file may be made to find out: then nothing is own."""
    publish(place.folder / "ours", b"code")
    make_folder(place.folder / "open")
    give_away(place, place.folder / "open", "777", user="nobody")
    script = """
import sys
from audioloom_storage import *
folder = locate(sys.argv[1])
print(is_own(folder / "ours"))
publish(folder / "open/theirs", b"")
print(is_own(folder / "open/theirs"), is_guarded(folder / "open"))
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, place.folder.uri],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HADOOP_USER_NAME": "nobody"},
    )
    assert ["False", "True False"] == ran.stdout.splitlines()


def become(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process of that user, which no cluster has answered yet."""
    monkeypatch.setenv("HADOOP_USER_NAME", user)
    monkeypatch.setattr(hdfs_client, "KNOWN", {})


@pytest.mark.parametrize("place", ["hdfs"], indirect=True)
def test_nobody_is_taken_for_another_in_a_folder_of_theirs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who replaces what is made there to learn a name, as soon as it can be seen."""
    from hdfs_native import Client, WriteOptions

    folder = place.folder / "open"
    make_folder(folder)
    give_away(place, folder, "777", user="mallory")
    become("mallory", monkeypatch)
    publish(folder / "planted", b"code", private=True)
    mallory, look = Client(str(place.cluster.hdfs)), Client.get_file_info
    mallory.get_file_info(folder.path)
    become("bob", monkeypatch)
    publish(folder / "ours", b"code", private=True)
    replaced = []

    def replacing(client: Client, path: str) -> Any:
        for seen in mallory.list_status(folder.path):
            if is_temporary(seen.path.rpartition("/")[2]):
                mallory.rename(seen.path, f"{folder.path}/{os.urandom(8).hex()}")
                if seen.isdir:
                    mallory.mkdirs(seen.path, 0o777)
                else:
                    mallory.create(seen.path, WriteOptions(permission=0o600)).close()
                replaced.append(seen.path)
        return look(client, path)

    monkeypatch.setattr(Client, "get_file_info", replacing)
    assert (False, True) == (is_own(folder / "planted"), is_own(folder / "ours"))
    assert 1 == len(replaced)


@pytest.mark.parametrize("place", ["hdfs"], indirect=True)
def test_a_quota_that_is_used_up_hides_nothing_that_is_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be removed, and makes room."""
    make_folder(place.folder / "full")
    give_away(place, place.folder / "full", "777")
    command = ["hdfs", "dfsadmin", "-setQuota", "2", (place.folder / "full").path]
    subprocess.run(command, check=True, env=place.cluster.running.variables)
    become("bob", monkeypatch)
    publish(place.folder / "full/ours", b"code", private=True)
    assert is_own(place.folder / "full/ours")


@pytest.mark.parametrize("place", ["hdfs"], indirect=True)
def test_where_a_name_was_learnt_nothing_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is made for it is closed to others for as long as it is there."""
    from hdfs_native import Client

    publish(place.folder / "ours", b"code")
    monkeypatch.setattr(hdfs_client, "KNOWN", {})
    watch, look, modes = Client(str(place.cluster.hdfs)), Client.get_file_info, []

    def looking(client: Client, path: str) -> Any:
        seen = watch.list_status(place.folder.path)
        modes.extend(oct(each.permission) for each in seen if each.isdir)
        return look(client, path)

    monkeypatch.setattr(Client, "get_file_info", looking)
    assert is_own(place.folder / "ours")
    assert ["0o700"] == modes
    assert ["ours"] == [entry.location.name for entry in list_folder(place.folder)]
