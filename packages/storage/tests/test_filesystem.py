from __future__ import annotations

import gc
import io
import os
import pickle
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from audioloom_storage import (
    IsAFolder,
    Location,
    NotFound,
    PermissionDenied,
    Unavailable,
    UnsafePath,
    locate,
    make_folder,
    publish,
)
from audioloom_storage.filesystem import AudioloomFile, AudioloomFileSystem, AudioloomHdfs
from audioloom_storage.location import SCHEMES
from audioloom_storage_testing import MemoryStore
from audioloom_storage_testing.s3_server import S3
from audioloom_storage_testing.web_server import running_web
from pyarrow import dataset, parquet

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
ODD_NAMES = (" lead", "50%", "50%25", "a#b?c", "a::b", "a[1]*", "line\nbreak", "sp ace", "录音 1")
WRITES = (
    ("open", "new", "wb"),
    ("open", "new", "w"),
    ("open", "new", "xb"),
    ("open", "a", "ab"),
    ("open", "a", "r+b"),
    ("pipe", "new", b""),
    ("pipe", {"new": b""}),
    ("pipe_file", "new", b""),
    ("write_bytes", "new", b""),
    ("write_text", "new", ""),
    ("touch", "new"),
    ("touch", "a", False),
    ("put", __file__, "new"),
    ("put_file", __file__, "new"),
    ("upload", __file__, "new"),
    ("mkdir", "new"),
    ("mkdirs", "new"),
    ("makedir", "new"),
    ("makedirs", "sub", True),
    ("rmdir", "empty"),
    ("rm", "a"),
    ("rm_file", "a"),
    ("delete", "sub", True),
    ("mv", "a", "new"),
    ("mv", "a", "a"),
    ("move", "a", "new"),
    ("rename", "a", "new"),
    ("cp", "a", "new"),
    ("cp_file", "a", "new"),
    ("copy", "missing", "new"),
)


@pytest.fixture
def files() -> AudioloomFileSystem:
    """Local files."""
    return AudioloomFile()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a few files."""
    for name in ("a", "sub/b", "sub/deep/c"):
        publish(locate(tmp_path / name), name.encode())
    make_folder(locate(tmp_path / "empty"))
    return tmp_path


@pytest.fixture
def in_memory() -> Iterator[Location]:
    """A folder of HDFS that is not there."""
    with MemoryStore().installed():
        folder = locate("hdfs://namenode:8020/data")
        make_folder(folder)
        yield folder


@pytest.mark.parametrize("look", ["info", "ls", "open", "cat_file", "size", "modified"])
def test_nothing_there(files: AudioloomFileSystem, tmp_path: Path, look: str) -> None:
    """Whatever looks at nothing raises the error of the storage, which names the place."""
    with pytest.raises(FileNotFoundError) as caught:
        getattr(files, look)(f"{tmp_path}/none")
    assert isinstance(caught.value, NotFound)
    assert f"{tmp_path}/none" == caught.value.where


def test_nothing_there_is_found_by_no_search(files: AudioloomFileSystem, tmp_path: Path) -> None:
    """As everywhere in fsspec."""
    missing = f"{tmp_path}/none"
    assert not files.exists(missing)
    assert not files.isfile(missing)
    assert not files.isdir(missing)
    assert [] == files.find(missing)
    assert [] == files.glob(f"{missing}/*")
    assert [] == list(files.walk(missing))
    with pytest.raises(NotFound):
        list(files.walk(missing, on_error="raise"))


def test_a_folder_is_no_file(files: AudioloomFileSystem, filled: Path) -> None:
    """Opening it is refused as Python does."""
    with pytest.raises(IsADirectoryError) as caught:
        files.open(f"{filled}/sub")
    assert isinstance(caught.value, IsAFolder)


@pytest.mark.parametrize("look", ["exists", "isfile", "isdir", "find", "glob", "info"])
def test_a_failure_is_no_answer(
    files: AudioloomFileSystem, filled: Path, bound_by_permissions: None, look: str
) -> None:
    """A table whose folder may not be listed would look complete without it."""
    (filled / "sub").chmod(0)
    where = {"find": filled, "glob": filled / "**"}.get(look, filled / "sub/b")
    try:
        with pytest.raises(PermissionDenied):
            getattr(files, look)(str(where))
    finally:
        (filled / "sub").chmod(0o700)


def test_a_walk_omits_where_it_is_told_to(
    files: AudioloomFileSystem, filled: Path, bound_by_permissions: None
) -> None:
    """By "omit", or a function that is told of the error."""
    (filled / "sub/deep").chmod(0)
    told: list[OSError] = []
    try:
        omitted = list(files.walk(str(filled), on_error="omit"))
        assert omitted == list(files.walk(str(filled), on_error=told.append))
        with pytest.raises(PermissionDenied):
            list(files.walk(str(filled), on_error="raise"))
    finally:
        (filled / "sub/deep").chmod(0o700)
    assert [str(filled), f"{filled}/empty", f"{filled}/sub"] == [name for name, *_ in omitted]
    assert [PermissionDenied] == [type(error) for error in told]


@pytest.mark.parametrize("call", WRITES, ids=lambda call: f"{call[0]}-{call[-1]}")
def test_nothing_is_written(
    files: AudioloomFileSystem, filled: Path, call: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by any method of fsspec; the error says what writes instead."""
    monkeypatch.chdir(filled)
    before = files.find(str(filled), withdirs=True, detail=True)
    method, *arguments = call
    with pytest.raises(io.UnsupportedOperation, match=r"read-only.*audioloom_storage\.create"):
        getattr(files, method)(*arguments)
    assert before == files.find(str(filled), withdirs=True, detail=True)


def test_fsspec_writes_nothing(filled: Path) -> None:
    """Opening for writing makes no folder first."""
    fsspec.register_implementation("audioloom+file", AudioloomFile, clobber=True)
    with (
        pytest.raises(io.UnsupportedOperation, match="read-only"),
        fsspec.open(f"audioloom+file://{filled}/new/file", "wb"),
    ):
        pass
    assert not (filled / "new").exists()


def test_options_are_refused() -> None:
    """Another user or host that nobody takes notice of would read something else."""
    with pytest.raises(
        TypeError, match=r"audioloom\+hdfs:// takes no options \(found user, host\)"
    ):
        AudioloomHdfs(user="me", host="namenode")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (AudioloomFile, "hdfs://namenode/a"),
        (AudioloomFile, "audioloom+hdfs://namenode/a"),
        (AudioloomFile, "audioloom+file://host/a"),
        (AudioloomFile, "file:///a/../b"),
        (AudioloomFile, "file:///a/%2e%2e/b"),
        (AudioloomFile, ""),
        (AudioloomHdfs, "s3://bucket/a"),
        (AudioloomHdfs, "namenode:8020/a/../b"),
        (AudioloomHdfs, "/a/../b"),
        (AudioloomHdfs, "audioloom+hdfs://namenode/a/%2E./b"),
        (AudioloomHdfs, "audioloom+hdfs://me:secret@namenode/a"),
        (AudioloomHdfs, "me:secret@namenode/a"),
        (AudioloomHdfs, Location("webhdfs", "namenode", "/a")),
    ],
)
def test_paths_elsewhere(kind: type[AudioloomFileSystem], path: Any) -> None:
    """No path climbs out of a folder, or leads to another storage than that asked for."""
    with pytest.raises(UnsafePath) as caught:
        kind().info(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        (AudioloomFile, "audioloom+file:///a//b/./c/", "/a/b/c"),
        (AudioloomFile, "file:///a%20b", "/a b"),
        (AudioloomFile, "/a%20b", "/a%20b"),
        (AudioloomFile, "/a/../b/", "/b"),
        (AudioloomFile, Path("/a/b"), "/a/b"),
        (AudioloomFile, "/", "/"),
        (AudioloomHdfs, "audioloom+hdfs://namenode:8020/a%23b/", "namenode:8020/a#b"),
        (AudioloomHdfs, "hdfs://namenode:8020/a", "namenode:8020/a"),
        (AudioloomHdfs, "namenode:8020/a%23b//c/./", "namenode:8020/a%23b/c"),
        (AudioloomHdfs, "audioloom+hdfs://namenode:8020/", "namenode:8020"),
        (AudioloomHdfs, "namenode:8020", "namenode:8020"),
        (AudioloomHdfs, "hdfs://[::1]:8020/a::b", "[::1]:8020/a::b"),
        (AudioloomHdfs, "audioloom+hdfs:///a/b", "/a/b"),
        (AudioloomHdfs, "/a/b", "/a/b"),
        (AudioloomHdfs, "hdfs:///", "/"),
        (AudioloomHdfs, locate("hdfs://namenode/50%25"), "namenode/50%"),
    ],
)
def test_names(kind: type[AudioloomFileSystem], path: Any, name: str) -> None:
    """A URL is decoded once; what fsspec keeps is authority and path as they are."""
    assert name == kind._strip_protocol(path)
    assert name == kind._strip_protocol(name)
    assert [name] == kind._strip_protocol([path])
    assert name == kind._strip_protocol(kind().unstrip_protocol(name))
    assert kind().unstrip_protocol(name) == kind().unstrip_protocol(path)


def test_parents() -> None:
    """The root is its own parent."""
    names = ("namenode/a/b", "namenode/a", "namenode", "/a", "/")
    parents = [AudioloomHdfs._parent(name) for name in names]
    assert ["namenode/a", "namenode", "namenode", "/", "/"] == parents


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back(files: AudioloomFileSystem, filled: Path, name: str) -> None:
    """Listed, found, and read by name, by URL and by the URI of a manifest."""
    location = locate(filled / "sub") / name
    publish(location, b"odd")
    assert location.path in files.ls(f"{filled}/sub", detail=False)
    assert location.path in files.glob(f"{filled}/su?/*")
    assert location.path in files.find(str(filled))
    fsspec.register_implementation("audioloom+file", AudioloomFile, clobber=True)
    for url in (files.unstrip_protocol(location.path), f"audioloom+{location.uri}"):
        with fsspec.open(url.replace("::", "%3A%3A")) as file:  # fsspec chains URLs by "::"
            assert b"odd" == file.read()
    assert b"odd" == files.cat_file(location.path)


def test_bytes_that_are_no_utf_8(files: AudioloomFileSystem, tmp_path: Path) -> None:
    """Are surrogates in a name, as Python has them, and %XX in a URL, which can be printed."""
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    Path(name).write_bytes(b"odd")
    assert [name] == files.ls(str(tmp_path), detail=False)
    assert [name] == files.glob(f"{tmp_path}/caf?")
    url = files.unstrip_protocol(name)
    assert f"audioloom+file://{tmp_path}/caf%E9" == url
    assert name == files._strip_protocol(url)
    assert b"odd" == files.cat_file(url) == files.cat_file(name)


def test_an_entry(files: AudioloomFileSystem, filled: Path) -> None:
    """Has the keys that fsspec and pyarrow read; a listing tells the same."""
    os.utime(filled / "a", ns=(0, 1_700_000_000_500_000_000))
    (filled / "link").symlink_to("a")
    common = {"size": 1, "type": "file", "mtime": 1_700_000_000.5}
    assert {"name": f"{filled}/a", **common, "islink": False} == files.info(f"{filled}/a")
    assert {"name": f"{filled}/link", **common, "islink": True} == files.info(f"{filled}/link")
    assert datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC) == files.modified(f"{filled}/a")
    folder = files.info(f"{filled}/sub/")
    assert (f"{filled}/sub", 0, "directory") == (folder["name"], folder["size"], folder["type"])
    names = ["a", "empty", "link", "sub"]
    assert [f"{filled}/{name}" for name in names] == files.ls(filled, detail=False)
    assert [files.info(f"{filled}/{name}") for name in names] == files.ls(filled)
    assert [files.info(f"{filled}/a")] == files.ls(f"{filled}/a")


def test_a_listing_is_not_remembered(files: AudioloomFileSystem, filled: Path) -> None:
    """What comes later is seen."""
    assert [] == files.ls(f"{filled}/empty")
    publish(locate(filled / "empty/late"), b"")
    assert [f"{filled}/empty/late"] == files.ls(f"{filled}/empty", detail=False)


def test_searches(files: AudioloomFileSystem, filled: Path) -> None:
    """Those of fsspec, at every depth."""
    assert ["a", "sub/b", "sub/deep/c"] == [
        name.removeprefix(f"{filled}/") for name in files.find(f"audioloom+file://{filled}")
    ]
    assert [f"{filled}/a"] == files.find(str(filled), maxdepth=1)
    assert [f"{filled}/a"] == files.find(f"{filled}/a")
    assert [f"{filled}/sub/b", f"{filled}/sub/deep"] == files.glob(f"{filled}/sub/*")
    assert [f"{filled}/sub/deep/c"] == files.glob(f"audioloom+file://{filled}/**/c")
    assert 1 + 5 + 10 == files.du(str(filled))


def test_a_walk(files: AudioloomFileSystem, filled: Path) -> None:
    """From above or from below, to a depth, with entries or without, and with folders left out."""
    rows = [
        (str(filled), ["empty", "sub"], ["a"]),
        (f"{filled}/empty", [], []),
        (f"{filled}/sub", ["deep"], ["b"]),
        (f"{filled}/sub/deep", [], ["c"]),
    ]
    assert rows == list(files.walk(str(filled)))
    assert rows[:3] == list(files.walk(str(filled), maxdepth=2))
    below = list(files.walk(str(filled), topdown=False))
    assert [rows[1], rows[3], rows[2], rows[0]] == below
    _, folders, found = next(files.walk(str(filled), detail=True))
    assert {"empty": files.info(f"{filled}/empty"), "sub": files.info(f"{filled}/sub")} == folders
    assert {"a": files.info(f"{filled}/a")} == found
    walk = files.walk(str(filled))
    next(walk)[1].remove("sub")
    assert [rows[1]] == list(walk)
    with pytest.raises(ValueError, match="maxdepth"):
        list(files.walk(str(filled), maxdepth=0))


def test_links_are_followed_but_not_in_circles(files: AudioloomFileSystem, filled: Path) -> None:
    """A folder that links to one of its parents is left out."""
    (filled / "sub/back").symlink_to(filled)
    (filled / "also").symlink_to("sub/deep")
    expected = [f"{filled}/{name}" for name in ("a", "also/c", "sub/b", "sub/deep/c")]
    assert expected == files.find(str(filled))


@pytest.mark.parametrize(
    ("start", "end"),
    [(None, None), (3, None), (None, 3), (2, 5), (-3, None), (None, -3), (-4, -1), (5, 3), (9, 99)],
)
def test_ranges(
    files: AudioloomFileSystem, tmp_path: Path, start: int | None, end: int | None
) -> None:
    """As those of a slice, the empty ones too."""
    data = b"0123456789"
    publish(locate(tmp_path / "data"), data)
    assert data[start:end] == files.cat_file(f"{tmp_path}/data", start, end)
    assert [data[start:end]] == files.cat_ranges([f"{tmp_path}/data"], start, end)


def test_reading_seeks(files: AudioloomFileSystem, tmp_path: Path) -> None:
    """Readers of Parquet jump, and some ask the file for its size."""
    data = bytes(range(256)) * 4096
    publish(locate(tmp_path / "data"), data)
    with files.open(f"{tmp_path}/data") as file:
        assert (0, len(data)) == (file.tell(), file.size)
        file.seek(-3, io.SEEK_END)
        assert data[-3:] == file.read()
        file.seek(100_001)
        assert data[100_001:100_011] == file.read(10)
    assert data[10:30] == files.read_block(f"{tmp_path}/data", 10, 20)
    assert data[:5] == files.head(f"{tmp_path}/data", 5)
    assert data[-5:] == files.tail(f"{tmp_path}/data", 5)
    files.get(f"{tmp_path}/data", f"{tmp_path}/copy")
    assert data == (tmp_path / "copy").read_bytes()


def test_text(files: AudioloomFileSystem, tmp_path: Path) -> None:
    """Is decoded by fsspec."""
    publish(locate(tmp_path / "text"), "Grüße\n".encode())
    with files.open(f"{tmp_path}/text", "r", encoding="utf-8") as file:
        assert "Grüße\n" == file.read()


def test_hdfs(in_memory: Location) -> None:
    """Names begin with the NameNode, and URLs lead there."""
    publish(in_memory / "a/50%", b"content")
    fsspec.register_implementation("audioloom+hdfs", AudioloomHdfs, clobber=True)
    found, name = fsspec.url_to_fs("audioloom+hdfs://namenode:8020/data")
    assert "namenode:8020/data" == name
    assert ["namenode:8020/data/a/50%"] == found.find(name)
    assert ["namenode:8020/data/a"] == found.glob("audioloom+hdfs://namenode:8020/*/a")
    assert b"content" == found.cat_file("namenode:8020/data/a/50%")
    for url in ("audioloom+hdfs://namenode:8020/data/a/50%25", f"audioloom+{in_memory.uri}/a/50%"):
        with fsspec.open(url) as file:
            assert b"content" == file.read()


def test_a_web_server(tmp_path: Path) -> None:
    """Reads and lists as well; a folder has no time there."""
    from audioloom_storage.filesystem import AudioloomHttp

    publish(locate(tmp_path / "sub/a#b"), b"content")
    with running_web(tmp_path) as address:
        web, (_, _, host) = AudioloomHttp(), address.partition("://")
        assert [f"{host}/sub/a#b"] == web.find(address)
        assert b"tent" == web.cat_file(f"audioloom+{address}/sub/a%23b", 3)
        assert web.info(f"{host}/sub")["mtime"] is None
        with pytest.raises(NotImplementedError, match="tells no time"):
            web.modified(f"{host}/sub")
    with pytest.raises(Unavailable):
        web.exists("127.0.0.1:9/a")


def test_a_fork_reads_on(s3: S3) -> None:
    """By the file system of its parent, and with a connection of its own."""
    from audioloom_storage.filesystem import AudioloomS3

    folder = locate(s3.root) / os.urandom(8).hex()
    publish(folder / "file", b"content")
    store = AudioloomS3()
    assert b"content" == store.cat_file(folder / "file")
    assert [f"{folder.authority}{folder.path}/file"] == store.find(folder.uri)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os._exit(store.cat_file(folder / "file") != b"content")
        os._exit(2)
    assert 0 == os.waitpid(child, 0)[1]


def test_a_pickle_reads_on(files: AudioloomFileSystem, filled: Path) -> None:
    """In another process, which knows of no file system yet."""
    assert files == pickle.loads(pickle.dumps(files))  # noqa: S301
    assert files == AudioloomFileSystem.from_json(files.to_json())
    script = (
        "import pickle, sys\n"
        "files, name = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(files.cat_file(name))"
    )
    packed = pickle.dumps((files, f"{filled}/sub/b"))
    run = [sys.executable, "-c", script]
    assert b"sub/b" == subprocess.run(run, input=packed, capture_output=True, check=True).stdout


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # pyarrow leaves them open
def test_pyarrow_reads_a_table(files: AudioloomFileSystem, tmp_path: Path) -> None:
    """One file by name, and a folder of files, whose names hold values that are escaped once."""
    table = pa.table({"word": ["yes", "no"]})
    parquet.write_table(table, tmp_path / "one.parquet")
    assert table == parquet.read_table(f"{tmp_path}/one.parquet", filesystem=files)
    for key in ("a%2Fb", "c"):
        (tmp_path / f"many/key={key}").mkdir(parents=True)
        parquet.write_table(table, tmp_path / f"many/key={key}/0.parquet")
    publish(locate(tmp_path / "many/.0.parquet.0123456789abcdef.part"), b"unfinished")
    read = dataset.dataset(f"{tmp_path}/many", filesystem=files, partitioning="hive").to_table()
    assert {"word": ["yes", "no"] * 2, "key": ["a/b"] * 2 + ["c"] * 2} == read.to_pydict()
    with pytest.raises(FileNotFoundError):
        parquet.read_table(f"{tmp_path}/none.parquet", filesystem=files)
    gc.collect()  # here, and not in the next test, which hears of them


def test_pyarrow_reads_hdfs(in_memory: Location) -> None:
    """By the name with its NameNode."""
    table = pa.table({"word": ["yes", "no"]})
    written = io.BytesIO()
    parquet.write_table(table, written)
    publish(in_memory / "many/1.parquet", written.getvalue())
    publish(in_memory / "many/2.parquet", written.getvalue())
    read = parquet.read_table("namenode:8020/data/many", filesystem=AudioloomHdfs())
    assert table.to_pydict()["word"] * 2 == read["word"].to_pylist()


def entry_points() -> dict[str, str]:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    found: dict[str, str] = project["entry-points"]["fsspec.specs"]
    return found


def test_every_scheme_is_an_entry_point() -> None:
    """Each leads to the class of its own scheme."""
    found = entry_points()
    assert sorted(f"audioloom+{scheme}" for scheme in SCHEMES) == list(found)
    for protocol, value in found.items():
        module, _, name = value.partition(":")
        kind = getattr(import_module(module), name)
        assert issubclass(kind, AudioloomFileSystem)
        assert protocol == kind.protocol == kind().unstrip_protocol("host/a").partition("://")[0]


def test_fsspec_knows_it_once_installed(filled: Path, tmp_path_factory: Any) -> None:
    """In a new process, by nothing but the entry points; behind a cache of fsspec as well."""
    metadata = tmp_path_factory.mktemp("installed") / "audioloom_storage-0.dist-info"
    metadata.mkdir()
    lines = [f"{name} = {value}" for name, value in entry_points().items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[fsspec.specs]", *lines]))
    (metadata / "METADATA").write_text("Name: audioloom-storage\nVersion: 0\n")
    script = (
        "import sys, fsspec\n"
        "assert 'audioloom_storage' not in sys.modules\n"
        "with fsspec.open(sys.argv[1]) as file: print(file.read())\n"
        "with fsspec.open('simplecache::' + sys.argv[1]) as file: print(file.read())\n"
    )
    path = os.pathsep.join([str(metadata.parent), *sys.path])
    out = subprocess.run(
        [sys.executable, "-c", script, f"audioloom+file://{filled}/sub/b"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ).stdout
    assert ["b'sub/b'"] * 2 == out.split()
