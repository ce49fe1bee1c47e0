from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from audioloom_storage import (
    AlreadyExists,
    Location,
    NotConfigured,
    NotFound,
    PermissionDenied,
    Unavailable,
    UnknownOutcome,
    UnsafePath,
    create,
    exists,
    is_own,
    list_folder,
    locate,
    make_folder,
    publish,
    read_bytes,
    remove,
    remove_empty_folder,
    remove_tree,
    share,
    stat,
    walk,
)
from audioloom_storage.objects import connection, s3
from audioloom_storage.objects.connection import connection_to
from audioloom_storage.remote import retry
from audioloom_storage_testing.s3_server import S3, running_s3
from storage_cluster import Relay

LARGE = bytes(range(256)) * 80_000  # two parts of an upload


@pytest.fixture
def folder(s3: S3) -> Location:
    """An empty folder in the store."""
    empty = locate(s3.root) / os.urandom(8).hex()
    make_folder(empty)
    return empty


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As a new process, which no store has answered yet."""
    monkeypatch.setattr(connection, "_KNOWN", {})
    return monkeypatch


def put(folder: Location, key: str, body: bytes = b"") -> None:
    """An object as another program puts it: without a marker, under any key."""
    client = connection_to(folder)
    name = f"{folder.path[1:]}/{key}"
    client.attempt(
        folder, lambda fs: fs.call_s3("put_object", Bucket=folder.authority, Key=name, Body=body)
    )


def uploads(folder: Location) -> list[str]:
    """The unfinished uploads of the bucket."""
    client = connection_to(folder)
    found = client.attempt(
        folder, lambda fs: fs.call_s3("list_multipart_uploads", Bucket=folder.authority)
    )
    return [each["Key"] for each in found.get("Uploads", ())]


def test_a_large_file_appears_whole(folder: Location) -> None:
    """In parts, none of which is seen before the last."""
    with create(folder / "large") as file:
        file.write(LARGE)
        assert not exists(folder / "large")
    assert LARGE == read_bytes(folder / "large", limit=len(LARGE))
    assert [] == uploads(folder)


def test_a_large_file_replaces_nothing(folder: Location) -> None:
    """The end of an upload is refused as a plain PUT is, and its parts are given up."""
    with pytest.raises(AlreadyExists), create(folder / "large") as file:  # noqa: PT012
        file.write(LARGE)
        publish(folder / "large", b"first")
    assert b"first" == read_bytes(folder / "large", limit=9)
    assert [] == uploads(folder)


def test_an_exception_gives_up_the_parts(folder: Location) -> None:
    """Nobody pays for parts that nobody sees."""
    with pytest.raises(KeyError), create(folder / "large") as file:  # noqa: PT012
        file.write(LARGE)
        raise KeyError
    assert [[], []] == [uploads(folder), list(walk(folder))]


@pytest.mark.parametrize("data", [b"small", LARGE], ids=["in one request", "in parts"])
def test_a_store_that_replaces_is_refused(fresh: pytest.MonkeyPatch, data: bytes) -> None:
    """It takes a conditional request for any other: found out before the first commit."""
    with running_s3(ignores_conditions=True) as old:
        for name, value in old.environment.items():
            fresh.setenv(name, value)
        folder = locate(old.root)
        make_folder(folder)
        with pytest.raises(NotConfigured, match="ignores If-None-Match"):
            publish(folder / "file", data)
        assert [] == list(walk(folder))


def test_what_other_programs_put_is_read(folder: Location) -> None:
    """A prefix without a marker is a folder as long as something has it."""
    put(folder, "calls/1.wav", b"RIFF")
    assert stat(folder / "calls").is_folder
    assert ["calls/1.wav"] == [each.location.relative_to(folder) for each in walk(folder)]
    assert [("calls", True)] == [
        (each.location.name, each.is_folder) for each in list_folder(folder)
    ]
    publish(folder / "calls/2.wav", b"")
    remove(folder / "calls/1.wav")
    remove(folder / "calls/2.wav")
    assert stat(folder / "calls").is_folder  # by the marker of the second
    assert remove_empty_folder(folder / "calls")
    assert not exists(folder / "calls")


@pytest.mark.parametrize("key", ["a//b", "/b", "./b", "../b"])
def test_a_key_that_is_no_path_is_named(folder: Location, key: str) -> None:
    """A listing without it would look complete."""
    put(folder, "before")
    put(folder, key)
    with pytest.raises(UnsafePath, match="empty part"):
        list(walk(folder))


def test_a_tree_without_markers_goes(folder: Location) -> None:
    """A folder that is no more than a prefix is gone with its last object."""
    for number in range(8):
        put(folder, f"tree/{number % 2}/{number}")
    put(folder, "tree-beside")
    remove_tree(folder / "tree")
    assert ["tree-beside"] == [each.location.relative_to(folder) for each in walk(folder)]


def test_nobody_owns_an_object(folder: Location) -> None:
    """Who may read or write it is the account's affair: a question about it is refused."""
    publish(folder / "file", b"")
    with pytest.raises(NotConfigured, match="policies of the account"):
        is_own(folder / "file")
    with pytest.raises(PermissionDenied):
        share(folder / "file")


class Limited:
    """A bucket whose credentials may write below one prefix, and read there or everywhere."""

    def __init__(self, prefix: str, *, reads_all: bool) -> None:
        self.prefix, self.reads_all = prefix, reads_all
        self.keys: set[str] = set()

    def call_s3(self, method: str, *, Key: str, **_: object) -> None:  # noqa: N803 - S3's names
        is_read = method == "head_object"
        if not Key.startswith(self.prefix) and not (is_read and self.reads_all):
            raise PermissionError("Forbidden")
        if not is_read:
            self.keys.add(Key)
        elif Key not in self.keys:
            raise FileNotFoundError("Not Found")


@pytest.mark.parametrize("reads_all", [False, True])
def test_credentials_for_a_prefix_are_enough(fresh: pytest.MonkeyPatch, reads_all: bool) -> None:
    """The folders above it get no marker; elsewhere no folder is made."""
    bucket = Limited("team/mine/", reads_all=reads_all)
    fresh.setattr(connection, "_filesystem", lambda _: bucket)
    make_folder(locate("s3://bucket/team/mine"))
    make_folder(locate("s3://bucket/team/mine/runs/1"))
    assert {"team/mine/", "team/mine/runs/", "team/mine/runs/1/"} == bucket.keys
    with pytest.raises(PermissionDenied):
        make_folder(locate("s3://bucket/team/yours"))


def test_a_bucket_that_is_not_there(folder: Location) -> None:
    """Is not found."""
    with pytest.raises(NotFound):
        list_folder(locate("s3://no-such-bucket/a"))
    with pytest.raises(NotFound):
        publish(locate("s3://no-such-bucket/a/b"), b"")


def test_a_wrong_address_fails_at_once(fresh: pytest.MonkeyPatch) -> None:
    """A store that never answered is misspelt."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    fresh.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(Unavailable, match="no answer"):
        stat(locate("s3://bucket/a"))


def test_no_credentials(s3: S3, fresh: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The variables that the library looks for are named, and no value of theirs."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        fresh.delenv(name, raising=False)
    fresh.setenv("AWS_EC2_METADATA_DISABLED", "true")
    fresh.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    fresh.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(PermissionDenied, match="AWS_PROFILE"):
        publish(locate(s3.root) / "a", b"")


def test_a_fork_reads_on(folder: Location) -> None:
    """With a connection of its own: the event loop of fsspec does not outlive a fork."""
    publish(folder / "file", b"content")
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os._exit(read_bytes(folder / "file", limit=9) != b"content")
        os._exit(2)
    assert 0 == os.waitpid(child, 0)[1]


@pytest.fixture
def relayed(s3: S3, fresh: pytest.MonkeyPatch) -> Iterator[Any]:
    """Make a way to the store on which the answer to a request is lost."""
    if "AWS_ENDPOINT_URL" not in s3.environment:
        pytest.skip("the store is not on this machine")
    opened: list[Relay] = []

    def relay(lose: bytes, *, for_good: bool = False) -> Relay:
        way = Relay(
            urlsplit(s3.environment["AWS_ENDPOINT_URL"]).netloc, lose=lose, for_good=for_good
        )
        opened.append(way)
        fresh.setenv("AWS_ENDPOINT_URL", f"http://{way.address}")
        return way

    yield relay
    for way in opened:
        way.__exit__()


def test_a_commit_whose_answer_is_lost_is_ours(folder: Location, relayed: Any) -> None:
    """The repeated request is refused, because the first one has made the object: by its token."""
    way = relayed(b"PUT /audioloom-tests" + folder.path.encode() + b"/file ")
    publish(folder / "file", b"content")
    assert 1 == way.lost
    assert b"content" == read_bytes(folder / "file", limit=9)


def test_a_large_commit_whose_answer_is_lost_is_ours(folder: Location, relayed: Any) -> None:
    """Its upload is gone then."""
    way = relayed(b"<CompleteMultipartUpload")
    connection_to(folder).proved.add("complete_multipart_upload")  # its probe ends an upload, too
    with create(folder / "file") as file:
        file.write(LARGE)
    assert 1 == way.lost
    assert LARGE == read_bytes(folder / "file", limit=len(LARGE))


def test_a_store_that_goes_away_at_the_commit(
    folder: Location, relayed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.5)
    relayed(b"PUT /audioloom-tests" + folder.path.encode() + b"/file ", for_good=True)
    with pytest.raises(UnknownOutcome):
        publish(folder / "file", b"content")


def test_what_appears_during_a_lost_commit_is_not_ours(folder: Location) -> None:
    """Another writer's token."""
    publish(folder / "file", b"theirs")
    sink = s3._Sink(folder / "file")
    sink.write(memoryview(b"ours"))
    with pytest.raises(AlreadyExists):
        sink.commit()


def test_threads_write_side_by_side(folder: Location) -> None:
    """Through one connection."""
    threads = [
        threading.Thread(target=publish, args=(folder / f"{number}", b"x" * number))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [*range(8)] == [each.size for each in list_folder(folder)]


def test_a_package_that_is_missing_is_named() -> None:
    """With what to install."""
    script = (
        "import sys; sys.modules['s3fs'] = None\n"
        "from audioloom_storage import locate, stat\n"
        "try:\n    stat(locate('s3://bucket/a'))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("NotConfigured ")
    assert 'pip install "audioloom-storage[s3]"' in ran.stdout
