from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from audioloom_storage import (
    AlreadyExists,
    Location,
    NoSpace,
    NotAFile,
    NotAFolder,
    NotFound,
    PermissionDenied,
    StorageError,
    Unavailable,
    UnsafePath,
    create,
    exists,
    is_temporary,
    leads_back,
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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def on_disk(location: Location) -> Path:
    """The same place without our help."""
    return Path(location.path)


def open_descriptors(below: str) -> int:
    """How many files and folders below a folder this process holds open."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing is gone
            found += each.readlink().is_relative_to(below)
    return found


def names(folder: Location) -> list[str]:
    """The files below, in the order of the walk."""
    return [entry.location.relative_to(folder) for entry in walk(folder)]


@given(
    st.lists(
        st.binary(min_size=1, max_size=100).filter(
            lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
        ),
        max_size=5,
        unique=True,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_names_of_any_bytes_are_listed_and_read(here: Location, raw: list[bytes]) -> None:
    """Bytes that are no UTF-8 too: found by listing, readable by URI, never a crash of a print."""
    folder = here / os.urandom(8).hex()
    make_folder(folder)
    for name in raw:
        Path(os.fsdecode(os.fsencode(folder.path) + b"/" + name)).write_bytes(name)
    entries = list(list_folder(folder))
    assert sorted(map(os.fsdecode, raw)) == [entry.location.name for entry in entries]
    for entry in entries:
        assert os.fsencode(entry.location.name) == read_bytes(locate(entry.location.uri), limit=100)
        assert f"{entry.location}".encode()


def test_links_are_shown_as_what_they_lead_to(here: Location) -> None:
    """A linked file has the size of the file, a linked folder is a folder."""
    publish(here / "real/file", b"12345")
    on_disk(here / "file").symlink_to("real/file")
    on_disk(here / "folder").symlink_to("real")
    assert [("file", 5, False), ("folder", 0, True), ("real", 0, True)] == [
        (entry.location.name, entry.size, entry.is_folder) for entry in list_folder(here)
    ]
    assert ["file", "folder/file", "real/file"] == names(here)


@pytest.mark.parametrize("target", ["nowhere", "broken", "file/below", "n" * 300])
def test_links_that_lead_nowhere_are_shown_and_not_opened(here: Location, target: str) -> None:
    """An archive's broken link is somebody's missing recording: seen, and named when opened."""
    publish(here / "file", b"")
    on_disk(here / "broken").symlink_to(target)
    (entry,) = (entry for entry in walk(here) if entry.location.name == "broken")
    assert not entry.is_folder
    assert len(target) > 255 or not exists(entry.location)
    with pytest.raises((NotFound, UnsafePath)) as caught:
        open_read(entry.location)
    assert str(here / "broken") == caught.value.where


def test_a_link_that_leads_nowhere_is_not_written_through(here: Location) -> None:
    """Its name is taken: publishing would otherwise appear somewhere else."""
    on_disk(here / "m.json").symlink_to(on_disk(here / "elsewhere"))
    with pytest.raises(AlreadyExists):
        publish(here / "m.json", b"")
    assert ["m.json"] == [entry.location.name for entry in list_folder(here)]


def test_loops_of_links_end(here: Location) -> None:
    """A link up, two folders that link to each other: each file under each name, once."""
    publish(here / "a/file", b"")
    publish(here / "b/file", b"")
    on_disk(here / "a/up").symlink_to("..")
    on_disk(here / "a/b").symlink_to("../b")
    on_disk(here / "b/a").symlink_to("../a")
    assert ["a/b/file", "a/file", "b/a/file", "b/file"] == names(here)


def test_a_folder_is_walked_as_a_part_of_another(here: Location) -> None:
    """The parts hold what the whole holds: no link leads back into what the part lies in."""
    publish(here / "a/file", b"")
    publish(here / "b/file", b"")
    on_disk(here / "a/up").symlink_to("..")
    on_disk(here / "a/b").symlink_to("../b")
    on_disk(here / "b/a").symlink_to("../a")
    parts = [walk(here / name, within=here) for name in ("a", "b")]
    assert list(walk(here)) == [entry for part in parts for entry in part]
    assert [] == list(walk(here / "a/up", within=here))
    assert leads_back(here / "a/up", here)
    assert not leads_back(here / "a/b", here)


def test_a_linked_root_is_walked(here: Location) -> None:
    """And the files have the name they were asked for by."""
    publish(here / "real/file", b"")
    on_disk(here / "root").symlink_to("real")
    assert [here / "root/file"] == [entry.location for entry in walk(here / "root")]


def test_removing_follows_no_link(here: Location) -> None:
    """Neither of a file, nor of a folder, nor of the tree itself."""
    publish(here / "kept/file", b"")
    make_folder(here / "tree/sub")
    on_disk(here / "tree/sub/folder").symlink_to((here / "kept").path)
    on_disk(here / "tree/file").symlink_to((here / "kept/file").path)
    on_disk(here / "link").symlink_to((here / "kept").path)
    make_folder(here / "empty")
    on_disk(here / "link to nothing").symlink_to((here / "empty").path)
    for link in ("link", "link to nothing"):
        with pytest.raises(NotAFolder):
            remove_tree(here / link)
    remove(here / "link to nothing")
    remove_empty_folder(here / "empty")
    remove_tree(here / "tree")
    remove(here / "link")
    assert ["kept/file"] == names(here)
    assert ["kept"] == [entry.location.name for entry in list_folder(here)]


def test_a_walk_can_leave_links_out(here: Location) -> None:
    """To files, to folders and to nothing, and everything behind one, below the folder given."""
    publish(here / "real/a/file", b"")
    on_disk(here / "real/a/link").symlink_to("file")
    on_disk(here / "real/a/broken").symlink_to("nothing")
    on_disk(here / "real/b").symlink_to("a")
    on_disk(here / "root").symlink_to("real")
    found = [entry.location for entry in walk(here / "root", links=False)]
    assert [here / "root/a/file"] == found
    found = [entry.location for entry in walk(here / "real/a", within=here, links=False)]
    assert [here / "real/a/file"] == found
    assert [] == list(walk(here / "root/a", within=here, links=False))
    assert [] == list(walk(here / "real/b", within=here, links=False))


def test_removing_within_a_folder_crosses_no_link(here: Location) -> None:
    """The folder itself may be one; a file that is a link goes, and what it leads to stays."""
    publish(here / "real/a/file", b"")
    publish(here / "kept/file", b"")
    on_disk(here / "real/link").symlink_to("../kept")
    on_disk(here / "real/a/link").symlink_to("../../kept/file")
    on_disk(here / "root").symlink_to("real")
    root = here / "root"
    with pytest.raises(NotAFolder):
        remove(root / "link/file", within=root)
    with pytest.raises(NotFound):
        remove(root / "nothing/file", within=root)
    remove(root / "a/link", within=root)
    assert ["kept/file", "real/a/file"] == [
        entry.location.relative_to(here) for entry in walk(here, links=False)
    ]
    remove_tree(root / "a")
    assert ["kept/file"] == [entry.location.relative_to(here) for entry in walk(here, links=False)]


def test_an_empty_folder_is_not_removed_over_a_link(here: Location) -> None:
    """Neither the link goes nor what it leads to, below the folder given or at its end."""
    make_folder(here / "elsewhere/empty")
    make_folder(here / "real/empty")
    on_disk(here / "real/link").symlink_to("../elsewhere")
    on_disk(here / "real/last").symlink_to("../elsewhere/empty")
    on_disk(here / "root").symlink_to("real")
    root = here / "root"
    for refused in ("link/empty", "last"):
        with pytest.raises(NotAFolder):
            remove_empty_folder(root / refused, within=root)
    with pytest.raises(NotAFolder):
        remove_empty_folder(root / "last")
    assert exists(here / "elsewhere/empty")
    assert remove_empty_folder(root / "empty", within=root)
    assert ["last", "link"] == [entry.location.name for entry in list_folder(here / "real")]


def test_folders_that_one_may_not_read(here: Location, bound_by_permissions: None) -> None:
    """The error names the folder, not the root of the walk: a silent gap would be lost data."""
    publish(here / "a/file", b"")
    publish(here / "locked/file", b"")
    publish(here / "z/file", b"")
    on_disk(here / "locked").chmod(0)
    try:
        with pytest.raises(PermissionDenied) as caught:
            names(here)
        assert str(here / "locked") == caught.value.where
        with pytest.raises(PermissionDenied):
            exists(here / "locked/file")
        with pytest.raises(PermissionDenied):
            list_folder(here / "locked")
        with pytest.raises(PermissionDenied):
            publish(here / "locked/new", b"")
        assert ["a", "locked", "z"] == [entry.location.name for entry in list_folder(here)]
    finally:
        on_disk(here / "locked").chmod(0o700)


def test_links_into_folders_that_one_may_not_enter(
    here: Location, bound_by_permissions: None
) -> None:
    """Are listed like links that lead nowhere: one does not spoil the listing."""
    publish(here / "locked/file", b"")
    on_disk(here / "link").symlink_to("locked/file")
    on_disk(here / "locked").chmod(0)
    try:
        (link, _) = list_folder(here)
        assert (here / "link", False) == (link.location, link.is_folder)
        with pytest.raises(PermissionDenied):
            open_read(here / "link")
    finally:
        on_disk(here / "locked").chmod(0o700)


def test_names_without_permission_to_look(here: Location, bound_by_permissions: None) -> None:
    """A folder that shows its names and nothing else: the first of them is named."""
    publish(here / "names/file", b"")
    on_disk(here / "names").chmod(0o400)
    try:
        with pytest.raises(PermissionDenied) as caught:
            list(list_folder(here / "names"))
        assert str(here / "names/file") == caught.value.where
    finally:
        on_disk(here / "names").chmod(0o700)


def test_a_folder_one_may_not_write_to(here: Location, bound_by_permissions: None) -> None:
    """Publishing and making folders is refused with the name that was asked for."""
    on_disk(here).chmod(0o500)
    try:
        for change in (lambda: publish(here / "new", b""), lambda: make_folder(here / "new")):
            with pytest.raises(PermissionDenied) as caught:
                change()
            assert str(here / "new") == caught.value.where
    finally:
        on_disk(here).chmod(0o700)


def test_a_folder_one_may_write_to_but_not_read(here: Location, bound_by_permissions: None) -> None:
    """A drop box takes files."""
    on_disk(here).chmod(0o300)
    try:
        publish(here / "file", b"kept")
        assert b"kept" == read_bytes(here / "file", limit=4)
    finally:
        on_disk(here).chmod(0o700)


def test_the_umask_decides_who_reads(here: Location) -> None:
    """Colleagues read published files, as any other file."""
    before = os.umask(0o027)
    try:
        publish(here / "sub/file", b"")
    finally:
        os.umask(before)
    assert 0o640 == on_disk(here / "sub/file").stat().st_mode & 0o777
    assert 0o750 == on_disk(here / "sub").stat().st_mode & 0o777


def test_pipes_sockets_and_devices_are_not_read(
    here: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listed, but opening one would wait for ever."""
    os.mkfifo((here / "pipe").path)
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(here.path)  # names of sockets are short
        listener.bind("socket")
    assert ["pipe", "socket"] == names(here)
    with pytest.raises(NotAFile, match="pipe"):
        open_read(here / "pipe")
    with pytest.raises(NotAFile, match="socket"):  # the kernel refuses even to open it
        open_read(here / "socket")
    with pytest.raises(NotAFile):
        open_read(locate("/dev/zero"))


def test_a_failing_disk_is_named(here: Location) -> None:
    """Input/output errors while reading: /proc/self/mem answers one at its beginning."""
    for read in (lambda file: file.read(1), lambda file: file.read()):
        with open_read(locate("/proc/self/mem")) as file, pytest.raises(Unavailable) as caught:
            read(file)
        assert "/proc/self/mem" == caught.value.where
        assert errno.EIO == caught.value.errno


def test_a_full_disk_is_named(here: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/full is one; the file that was asked for is named, and can be let go of."""
    real = os.open

    def full(path: str, flags: int, *more: int, **other: int) -> int:
        if is_temporary(os.path.basename(path)):  # noqa: PTH119
            return real("/dev/full", os.O_WRONLY)
        return real(path, flags, *more, **other)

    monkeypatch.setattr(os, "open", full)
    before = open_descriptors("/dev/full")
    with pytest.raises(NoSpace, match="No space left") as caught:
        publish(here / "a", b"x")
    assert str(here / "a") == caught.value.where
    assert before == open_descriptors("/dev/full")


@pytest.fixture
def files_up_to_1_mib() -> Iterator[None]:
    """A limit on the size of files: the one full disk that every user can make."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_no_space_leaves_nothing(here: Location, files_up_to_1_mib: None) -> None:
    """Neither the target nor a part of it, and the error names the target."""
    with pytest.raises(NoSpace) as caught, create(here / "big") as file:
        file.write(b"x" * (3 << 20))
    assert str(here / "big") == caught.value.where
    assert [] == names(here)


def test_no_space_on_closing_leaves_nothing(here: Location, files_up_to_1_mib: None) -> None:
    """The last buffer is written when the block ends: that failure counts as well."""
    with pytest.raises(NoSpace), create(here / "big") as file:  # noqa: PT012
        for _ in range(3):
            file.write(b"x" * (512 << 10))
    assert [] == names(here)


def test_a_swallowed_failure_publishes_nothing(here: Location, files_up_to_1_mib: None) -> None:
    """Some writers log a failed write and go on: then the bytes are not all there."""
    with pytest.raises(NoSpace), create(here / "big") as file:  # noqa: PT012
        for _ in range(3):
            try:
                file.write(b"x" * (1 << 20))
            except NoSpace:
                continue
    assert [] == names(here)


def test_a_swallowed_failure_of_close_publishes_nothing(
    here: Location, files_up_to_1_mib: None
) -> None:
    """The file looks closed, as after a success."""
    with pytest.raises(NoSpace), create(here / "big") as file:  # noqa: PT012
        for _ in range(3):
            file.write(b"x" * (512 << 10))
        with suppress(NoSpace):
            file.close()
        assert file.closed
    assert [] == names(here)


FILL = """
import sys
from audioloom_storage import NoSpace, create, locate, publish, walk
disk = locate(sys.argv[1])
publish(disk / "first", b"x" * 300_000)
try:
    publish(disk / "second", b"x" * 3_000_000)
except NoSpace as error:
    print(error.where, [entry.location.name for entry in walk(disk)])
publish(disk / "third", b"x" * 300_000)
print([entry.location.name for entry in walk(disk)])
"""


def test_a_disk_that_is_really_full(here: Location) -> None:
    """A file system of 1 MiB: the file that fits not leaves its space to the next."""
    unshare = shutil.which("unshare")
    mount = f'mount -t tmpfs -o size=1m none "$1" && exec "{sys.executable}" -c "$2" "$1"'
    command = [unshare or "", "-Urm", "sh", "-c", mount, "sh", here.path, FILL]
    if unshare is None or subprocess.run([*command[:2], "true"], check=False).returncode != 0:
        pytest.skip("this kernel gives no user namespaces")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "mount:" in done.stderr:
        pytest.skip("no file system may be mounted here")
    expected = f"{here}/second ['first']\n['first', 'third']\n"
    assert (0, expected) == (done.returncode, done.stdout), done.stderr


def test_names_that_are_too_long(here: Location) -> None:
    """Refused as what they are, whether looked for or written."""
    for use in (stat, open_read, make_folder, lambda location: publish(location, b"")):
        with pytest.raises(UnsafePath, match="too long") as caught:
            use(here / ("n" * 256))
        assert caught.value.where.endswith("nnn")


def test_no_descriptor_is_left_open(here: Location) -> None:
    """After successes and failures of every kind: a stage opens a million files."""
    make_folder(here / "folder")
    publish(here / "taken", b"")

    def everything() -> None:
        for name in ("a", "folder", "taken"):
            with suppress(StorageError):
                publish(here / name, b"x")
                remove(here / name)
        for name in ("taken", "folder", "missing"):
            with suppress(StorageError):
                read_bytes(here / name, limit=9)
        list(walk(here))
        with suppress(KeyError), create(here / "b") as file:
            file.write(b"x")
            raise KeyError

    everything()
    before = open_descriptors(here.path)
    for _ in range(3):
        everything()
    assert before == open_descriptors(here.path)
