from __future__ import annotations

import os
import pickle
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import pytest
from audioloom_storage import (
    Location,
    NotFound,
    StorageError,
    UnsafePath,
    UnsupportedScheme,
    locate,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Location("hdfs", "nn:8020", "/data")

# Text made of what paths go wrong with, so that the interesting cases are common.
PIECES = st.sampled_from(
    [
        *("..", ".", "/", "//", "\\", "\0", "%2e", "%2F", "%00", "%25", "%", "~", "a", "b c", "é"),
        *("\n", "#", "?", ":", "file:", "hdfs://", "s3://", "nn:8020", "me:secret@", "\udcff"),
        *("\ud800", "录"),
    ]
)
NASTY = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=30)
NAMES = (
    st.binary(min_size=1, max_size=40)
    .filter(lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b".."))
    .map(os.fsdecode)
)
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))


@pytest.mark.parametrize(
    "relative",
    [
        *("", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "a/./b", "a\\b"),
        *("..\\a", "\\", "//a", "a/..", "/.."),
    ],
)
def test_joining_refuses_what_is_no_path_below(relative: str) -> None:
    """Paths in manifests come from outside: each way to climb out is refused, by name."""
    with pytest.raises(UnsafePath) as caught:
        ROOT / relative
    assert isinstance(caught.value, ValueError)
    assert ascii(relative) in str(caught.value)


@pytest.mark.parametrize("relative", ["a\0b", "\ud800", "\udcc3\udca9"])
def test_joining_refuses_what_no_name_can_hold(relative: str) -> None:
    """NUL, and text that is the bytes of nothing."""
    with pytest.raises(UnsafePath):
        ROOT / relative


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("hdfs://nn/a/../b", "/a/../b"),
        ("hdfs://nn/%2e%2e/b", "/../b"),
        ("hdfs://nn/a%2f..%2Fb", "/a/../b"),
        ("file:///..", "/.."),
        ("file:/../a", "/../a"),
    ],
)
def test_uris_do_not_climb(text: str, path: str) -> None:
    """Not even with codes: they are decoded before anything is checked."""
    with pytest.raises(UnsafePath) as caught:
        locate(text)
    assert ascii(path) == caught.value.where


def test_codes_are_decoded_once() -> None:
    """What decodes to a code stays that code, and climbs nowhere."""
    assert "/a/%2e%2e/b" == locate("hdfs://nn/a/%252e%252e/b").path


@pytest.mark.parametrize("text", ["hdfs://me:secret@nn/a", "hdfs://me@nn/a", "webhdfs://n n/a"])
def test_users_and_passwords_are_refused(text: str) -> None:
    """They would end up in manifests; and the error does not repeat them."""
    with pytest.raises(UnsafePath) as caught:
        locate(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["hdfs://nn:port/a", "file://host/a", "hdfs://[::1/a", "hdfs://:1/a"]
)
def test_bad_hosts_are_refused(text: str) -> None:
    """A host that no storage could have."""
    with pytest.raises(UnsafePath, match="host"):
        locate(text)


@pytest.mark.parametrize(
    "text", ["ftp://host/key", "data://host/", "HDFSS://nn/a", "x://b/file:/a"]
)
def test_other_schemes_are_refused_by_name(text: str) -> None:
    """With the list of those that are known."""
    with pytest.raises(UnsupportedScheme, match="file://, hdfs://, webhdfs://") as caught:
        locate(text)
    assert text.partition(":")[0].lower() + "://" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("s3a://bucket/a/", "s3://bucket/a"),
        ("S3://bucket", "s3://bucket/"),
        ("gcs://bucket/a?b", "gs://bucket/a%3Fb"),
        ("az://container/a", "abfs://container/a"),
        (
            "abfss://container@account.dfs.core.windows.net/a",
            "abfs://container@account.dfs.core.windows.net/a",
        ),
        ("https://host:8443/a%20b/%3F", "https://host:8443/a b/%3F"),
    ],
)
def test_object_stores_have_one_name_each(text: str, uri: str) -> None:
    """Whatever Hadoop or the tools of a cloud call them; and the URI is read back."""
    assert uri == locate(text).uri
    assert locate(text) == locate(uri)


@pytest.mark.parametrize(
    "text",
    ["s3:///key", "gs://", "https:///a", "abfs://me:secret@host/a", "s3://key:secret@bucket/a"],
)
def test_object_stores_need_a_bucket_and_no_key(text: str) -> None:
    """The variables of each library hold the credentials."""
    with pytest.raises(UnsafePath) as caught:
        locate(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "abfss://container@account.dfs.core.windows.net/a?sv=2024-11-04&SIG=secret",
        "az://container/a?sig=secret&sv=2024-11-04",
        "s3://bucket/a?X-Amz-Date=1&X-Amz-Signature=secret",
        "s3://bucket/a?AWSAccessKeyId=me&Signature=secret",
        "gs://bucket/a?x-goog-signature=secret",
    ],
)
def test_a_signature_is_no_part_of_a_name(text: str) -> None:
    """It lets everybody read who reads it in a manifest; written as %3F the `?` is a letter."""
    with pytest.raises(UnsafePath, match="would be recorded") as caught:
        locate(text)
    assert "secret" not in str(caught.value)
    assert "secret" in locate(text.replace("?", "%3F")).name


@pytest.mark.parametrize("text", ["", "a\0b", "hdfs://nn/%00", "/a\ud800", "\udcc3\udca9"])
def test_what_no_path_can_hold_is_refused(text: str) -> None:
    """Nothing at all, NUL, lone surrogates, and surrogates that are a letter in disguise."""
    with pytest.raises(UnsafePath):
        locate(text)


def test_hdfs_names_are_utf8() -> None:
    """Only a local disk holds names of any bytes."""
    assert "/\udcff" == locate("file:///%FF").path
    with pytest.raises(UnsafePath, match="UTF-8"):
        locate("hdfs://nn/%FF")


@pytest.mark.parametrize("path", ["", "a", "/a/", "//a", "/a//b", "/a/..", "/./a", "/\0"])
def test_no_instance_is_unsafe(path: str) -> None:
    """Whoever makes a Location by hand is held to the same."""
    with pytest.raises(UnsafePath):
        Location("file", "", path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hdfs://nn:8020/a/b", Location("hdfs", "nn:8020", "/a/b")),
        ("HDFS://nameservice1//a/./b/", Location("hdfs", "nameservice1", "/a/b")),
        ("hdfs:///a", Location("hdfs", "", "/a")),
        ("hdfs:/a", Location("hdfs", "", "/a")),
        ("hdfs://nn", Location("hdfs", "nn", "/")),
        ("hdfs://nn/.", Location("hdfs", "nn", "/")),
        ("hdfs://nn/a?b#c d", Location("hdfs", "nn", "/a?b#c d")),
        ("hdfs://nn/100%/x%2", Location("hdfs", "nn", "/100%/x%2")),
        ("webhdfs://[::1]:9870/ä", Location("webhdfs", "[::1]:9870", "/ä")),
        ("webhdfs://host/file:/a", Location("webhdfs", "host", "/file:/a")),
        ("file:///a%20b", Location("file", "", "/a b")),
        ("file:/a", Location("file", "", "/a")),
        ("file://localhost/a", Location("file", "", "/a")),
        ("/a//b/./c/", Location("file", "", "/a/b/c")),
        ("//a", Location("file", "", "/a")),
        ("/", Location("file", "", "/")),
        ("/a%20b?c#d", Location("file", "", "/a%20b?c#d")),
        ("/hdfs://nn/a", Location("file", "", "/hdfs:/nn/a")),
    ],
)
def test_locate_reads_what_people_write(text: str, expected: Location) -> None:
    """URIs as Hadoop, Java and Python write them, and plain paths, in which % is a letter."""
    assert expected == locate(text)


def test_relative_paths_start_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths without a slash, names with a colon and Path objects are of the working directory."""
    monkeypatch.chdir(tmp_path)
    here = Location("file", "", str(tmp_path.resolve()))
    assert here == locate(".")
    assert here / "a/b" == locate("a/b/")
    assert here / "file:a" == locate("file:a")
    assert here / "call:1.wav" == locate("call:1.wav")
    assert here / "a" == locate(Path("a"))
    assert here / "~" == locate(PurePosixPath("~"))
    assert here / "~me" == locate("~me")


def test_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A settings file has no shell that would know what ~ means."""
    monkeypatch.setenv("HOME", "/home/me")
    assert Location("file", "", "/home/me/audio") == locate("~/audio")
    assert Location("file", "", "/home/me") == locate("~")


def test_dots_after_a_link_mean_what_the_file_system_means(tmp_path: Path) -> None:
    """As `ls` would: the parent of where the link leads, and links elsewhere stay as written."""
    root = tmp_path.resolve()
    (root / "far/away").mkdir(parents=True)
    (root / "near").mkdir()
    (root / "near/link").symlink_to(root / "far/away")
    assert str(root / "far/x") == locate(f"{root}/near/link/../x").path
    assert str(root / "near/link/x") == locate(f"{root}/near/link/x").path
    assert str(root / "x") == locate(f"{root}/missing/../x").path


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths say so, absolute ones do not care."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(NotFound, match="working directory"):
        locate("a")
    assert "/a" == locate("/a").path


def test_locations_pass_through() -> None:
    """What is located stays so."""
    assert ROOT is locate(ROOT)


def test_uris_are_one_readable_line() -> None:
    """Letters and spaces stay; what breaks a line, a URI or a terminal is coded."""
    ugly = Location("file", "", "/a b/录音/é%#?/\n\x1b[2J\u202egpj\udcff")
    assert "file:///a b/录音/é%25%23%3F/%0A%1B[2J%E2%80%AEgpj%FF" == ugly.uri
    assert ugly.uri == str(ugly)
    assert "/a b/录音/é%#?" == str(Location("file", "", "/a b/录音/é%#?"))
    assert "hdfs://nn:8020/data" == str(ROOT)


def test_names_and_parents() -> None:
    """As in pathlib; the root is its own parent and has no name."""
    root = Location("file", "", "/")
    assert ("data", Location("hdfs", "nn:8020", "/")) == (ROOT.name, ROOT.parent)
    assert ("", root) == (root.name, root.parent)
    assert "/a" == (root / "a").path
    assert root == (root / "a").parent


def test_is_under_looks_at_whole_names() -> None:
    """Not at beginnings of names, not at other storages, not at itself."""
    root = Location("file", "", "/")
    assert (ROOT / "a").is_under(ROOT)
    assert (root / "a").is_under(root)
    assert not ROOT.is_under(ROOT)
    assert not root.is_under(root)
    assert not Location("hdfs", "nn:8020", "/data2").is_under(ROOT)
    assert not Location("hdfs", "other", "/data/a").is_under(ROOT)
    assert not Location("webhdfs", "nn:8020", "/data/a").is_under(ROOT)
    with pytest.raises(UnsafePath, match="under"):
        ROOT.relative_to(ROOT)


def test_locations_sort_hash_and_cross_processes() -> None:
    """They are keys of dictionaries, and travel to Spark workers."""
    assert ROOT == pickle.loads(pickle.dumps(ROOT))  # noqa: S301
    assert 1 == len({ROOT, Location("hdfs", "nn:8020", "/data")})
    assert [ROOT / "a", ROOT / "b"] == sorted([ROOT / "b", ROOT / "a"])


@given(NASTY)
def test_whatever_is_located_is_plain(text: str) -> None:
    """Any text is refused by a named error, or becomes a location that reads back exactly."""
    try:
        location = locate(text)
    except StorageError:
        return
    names = location.path.split("/")[1:]
    assert location.path == "/" or not {"", ".", ".."} & set(names)
    assert location == locate(location.uri) == locate(str(location))
    assert location.uri.isprintable() or " " in location.uri or not location.uri.isascii()
    assert location.uri.encode()
    assert 1 == len(location.uri.splitlines())


@given(NASTY)
def test_no_joined_path_escapes(relative: str) -> None:
    """Any text joined to a folder is refused, or lies below it, by any way of looking."""
    try:
        joined = ROOT / relative
    except UnsafePath:
        return
    assert joined.is_under(ROOT)
    assert os.path.normpath(joined.path) == joined.path
    assert joined.path.startswith("/data/")
    assert relative == joined.relative_to(ROOT)


@given(PATHS, st.lists(NAMES, min_size=1, max_size=3).map("/".join))
def test_any_name_is_kept(path: str, below: str) -> None:
    """Every sequence of bytes that a file system can hold comes back from text and from pickle."""
    folder = Location("file", "", path)
    location = folder.child(below)
    assert location == locate(location.uri) == locate(str(location))
    assert below == location.relative_to(folder)
    assert location == folder.child(location.relative_to(folder))
    assert location.parent.child(location.name) == location


@given(PATHS)
def test_fully_coded_uris_are_read(path: str) -> None:
    """What other programs write: every byte but the slashes as a code."""
    assert Location("file", "", path) == locate("file://" + quote(os.fsencode(path)))
    assert Location("file", "", path) == locate(Path(path).as_uri())
