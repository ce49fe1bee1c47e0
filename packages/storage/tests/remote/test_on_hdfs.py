"""What both ways to HDFS have to stand: lost answers, lost daemons, refusals of a real cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from audioloom_storage import (
    READ_BY_ALL,
    AlreadyExists,
    Location,
    NoSpace,
    NotConfigured,
    Unavailable,
    UnknownOutcome,
    UnsafePath,
    create,
    exists,
    is_temporary,
    list_folder,
    locate,
    make_folder,
    open_read,
    publish,
    read_bytes,
    stat,
)
from audioloom_storage.remote import retry
from hdfs_native import Client
from storage_cluster import Cluster, Relay

# They wait for daemons that come back: in the second process, beside the other tests of a cluster.
pytestmark = pytest.mark.xdist_group("daemons")

RENAME = {"hdfs": b"rename2", "webhdfs": b"m.json&renameoptions"}
BOTH = pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])

MOSTLY_HDFS = pytest.mark.parametrize(
    "scheme", ["hdfs", pytest.param("webhdfs", marks=pytest.mark.slow)]
)


def root(cluster: Cluster, scheme: str) -> Location:
    """An empty folder of this cluster."""
    folder: Location = getattr(cluster, scheme) / f"tests/{os.urandom(8).hex()}"
    make_folder(folder)
    return folder


def by_way_of(relay: Relay, folder: Location) -> Location:
    """The same folder, seen through a relay."""
    return Location(folder.scheme, relay.address, folder.path)


def finished(folder: Location) -> list[str]:
    """The names of what was published."""
    names = [entry.location.name for entry in list_folder(folder)]
    return [name for name in names if not is_temporary(name)]


@BOTH
def test_a_rename_whose_answer_is_lost_is_known_to_have_landed(
    scheme: str, cluster: Cluster
) -> None:
    """It is repeated, finds nothing to rename, and the file that lies there is known as ours."""
    folder = root(cluster, scheme)
    with Relay(folder.authority, lose=RENAME[scheme]) as way:
        publish(by_way_of(way, folder) / "m.json", b"mine")
        assert 1 == way.lost
    assert ["m.json"] == [entry.location.name for entry in list_folder(folder)]
    assert b"mine" == read_bytes(folder / "m.json", limit=9)


@BOTH
def test_a_cluster_that_goes_away_in_the_middle_leaves_an_unknown_outcome(
    scheme: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is deleted: the file did land."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.5)
    folder = root(cluster, scheme)
    with (
        Relay(folder.authority, lose=RENAME[scheme], for_good=True) as way,
        pytest.raises(UnknownOutcome, match=r"m\.json: the cluster went away.*Check whether"),
    ):
        publish(by_way_of(way, folder) / "m.json", b"mine")
    assert b"mine" == read_bytes(folder / "m.json", limit=9)


@BOTH
def test_another_file_is_not_taken_for_ours(scheme: str, cluster: Cluster) -> None:
    """The answer is lost, and by the time of the repetition somebody else has the name."""
    folder = root(cluster, scheme)
    with (  # noqa: PT012
        Relay(folder.authority, lose=RENAME[scheme]) as way,
        pytest.raises(AlreadyExists),
        create(by_way_of(way, folder) / "m.json") as file,
    ):
        file.write(b"mine")
        publish(folder / "m.json", b"theirs")
    assert b"theirs" == read_bytes(folder / "m.json", limit=9)
    assert ["m.json"] == [entry.location.name for entry in list_folder(folder)]


def test_a_gateway_that_forgets_options_is_refused(cluster: Cluster) -> None:
    """HttpFS leaves them out, and would move the file into a folder of its name."""
    folder = root(cluster, "webhdfs")
    with (
        Relay(folder.authority, forget=b"&renameoptions=NONE") as way,
        pytest.raises(NotConfigured, match="leaves out the options of a rename"),
    ):
        publish(by_way_of(way, folder) / "m.json", b"mine")
    assert [] == [entry.location.name for entry in list_folder(folder)]


@pytest.mark.slow
@BOTH
def test_a_namenode_killed_in_the_middle_and_started_again(
    scheme: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit waits for it; and what is opened and listed goes on as well."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 300)  # how long a start takes is not ours
    folder = root(cluster, scheme)
    publish(folder / "before", b"x" * 3_000_000)
    with open_read(folder / "before") as file, ThreadPoolExecutor(1) as other:
        assert b"x" * 10 == file.read(10)
        cluster.running.tell("kill namenode")
        started = other.submit(cluster.running.tell, "start namenode")
        assert ["before"] == finished(folder)
        assert b"x" * 2_999_990 == file.read()
        publish(folder / "after", b"")
        started.result()
    assert ["after", "before"] == finished(folder)


@pytest.mark.slow
@BOTH
def test_a_namenode_that_dies_for_good(
    scheme: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was published, and everything after fails at once rather than after its own wait."""
    monkeypatch.setattr(retry, "RETRY_SECONDS", 2)
    folder = root(cluster, scheme)
    with cluster.running.without("namenode"):
        with pytest.raises(Unavailable):
            publish(folder / "m.json", b"")
        begin = time.monotonic()
        for _ in range(20):
            with pytest.raises(Unavailable):
                stat(folder)
        assert time.monotonic() - begin < 20
    assert [] == finished(folder)


@MOSTLY_HDFS
def test_a_lost_datanode(scheme: str, cluster: Cluster) -> None:
    """What was opened before is read from the other one."""
    folder = root(cluster, scheme)
    data = os.urandom(1_500_000)
    for number in range(8):  # which DataNode comes first is drawn by lot
        publish(folder / f"{number}", data)
    files = [open_read(folder / f"{number}") for number in range(8)]
    with cluster.running.without("datanode-1"):
        assert [data] * 8 == [file.read() for file in files]
    for file in files:
        file.close()


@pytest.mark.slow
def test_writing_goes_on_when_a_datanode_is_lost(cluster: Cluster) -> None:
    """Through the one that is left; a new file waits until the NameNode has noticed."""
    folder = root(cluster, "hdfs")
    data = os.urandom(3_000_000)
    with create(folder / "begun") as file:
        file.write(data)
        with cluster.running.without("datanode-1"):
            file.write(data)
            file.flush()
            publish(folder / "new", data)
    for name, expected in (("begun", 2 * data), ("new", data)):
        assert expected == read_bytes(folder / name, limit=10**7)
    assert ["begun", "new"] == [entry.location.name for entry in list_folder(folder)]


@pytest.mark.slow
def test_new_files_over_http_are_made_by_the_datanode_that_is_left(cluster: Cluster) -> None:
    """One that cannot be reached is left out of the next question."""
    folder = root(cluster, "webhdfs")
    with cluster.running.without("datanode-2"):
        for number in range(4):
            publish(folder / f"{number}", b"x" * 100_000)
    assert 4 == len(finished(folder))


@pytest.mark.parametrize("count", [2_500, pytest.param(10_000, marks=pytest.mark.slow)])
@BOTH
def test_thousands_of_entries(scheme: str, count: int, cluster: Cluster) -> None:
    """All of them, in order: the NameNode answers with a thousand at a time."""
    folder = cluster.hdfs / f"tests/many-{count}"
    names = [f"{number:05}" for number in range(count)]
    if not exists(folder):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(make_folder, [folder / name for name in names]))
    listed = list_folder(getattr(cluster, scheme) / f"tests/many-{count}")
    assert names == [entry.location.name for entry in listed]


@BOTH
def test_many_threads(scheme: str, cluster: Cluster) -> None:
    """They share what may be shared."""
    folder = root(cluster, scheme)
    names = [f"{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: publish(folder / name, name.encode() * 100_000), names))
        read = threads.map(lambda name: read_bytes(folder / name, limit=10**7), names)
        assert [name.encode() * 100_000 for name in names] == list(read)


FORK = """
import os, signal, sys
from audioloom_storage import locate, open_read, publish, read_bytes
folder, data = locate(sys.argv[1]), os.urandom(3_000_000)
publish(folder / "before", data)
file = open_read(folder / "before")
assert file.read(1_000_000) == data[:1_000_000]
middle = open_read(folder / "before")
assert middle.read(10) == data[:10]
assert read_bytes(folder / "before", limit=10**7) == data  # its connection is kept for the next
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        assert file.read() == data[1_000_000:]
        file.close()
        assert middle.read() == data[10:]
        publish(folder / f"child-{number}", b"")
        sys.exit()  # the long way: whatever was inherited is dropped
    children.append(child)
for _ in range(10):
    assert read_bytes(folder / "before", limit=10**7) == data
assert file.read() == data[1_000_000:]
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
assert codes == [0, 0, 0], codes
assert middle.read() == data[10:]
"""


@BOTH
def test_forks(scheme: str, cluster: Cluster) -> None:
    """Spark's workers are forks of one that has been at work: they connect on their own."""
    folder = root(cluster, scheme)
    subprocess.run([sys.executable, "-c", FORK, folder.uri], check=True, timeout=60)
    assert ["before", "child-0", "child-1", "child-2"] == finished(folder)


DENIED = """
import sys
from audioloom_storage import PermissionDenied, list_folder, locate, open_read, publish, stat
folder = locate(sys.argv[1])
for refused in (
    lambda: publish(folder / "m.json", b""),
    lambda: list_folder(folder / "closed"),
    lambda: stat(folder / "closed/file"),
    lambda: open_read(folder / "closed/file"),
):
    try:
        refused()
    except PermissionDenied as error:
        print(error)
"""


@BOTH
def test_another_user_is_refused(scheme: str, cluster: Cluster) -> None:
    """By name and place, in Hadoop's words: they say which right on which folder was missing."""
    folder = root(cluster, scheme)
    publish(folder / "closed/file", b"")
    words = ["hdfs", "dfs", "-chmod", "700", f"{folder.path}/closed"]
    subprocess.run(words, check=True, env=cluster.running.variables)
    ran = subprocess.run(
        [sys.executable, "-c", DENIED, folder.uri],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HADOOP_USER_NAME": "nobody"},
    )
    told = ran.stdout.splitlines()
    assert 4 == len(told)
    assert all("Permission denied: user=nobody, access=" in line for line in told)
    assert told[0].startswith(f"{folder}/m.json: ")


@pytest.mark.parametrize(("said", "copies"), [(1, 1), (None, 2)])
def test_files_have_as_many_copies_as_clients_are_to_ask_for(
    said: int | None,
    copies: int,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`dfs.replication` of HADOOP_CONF_DIR; where it says nothing, what the NameNode has."""
    shutil.copytree(os.environ["HADOOP_CONF_DIR"], tmp_path / "conf")
    site = tmp_path / "conf/hdfs-site.xml"
    value = "" if said is None else f"<name>dfs.replication</name><value>{said}</value>"
    before = "<name>dfs.replication</name><value>2</value>"
    assert 1 == site.read_text().count(before)
    site.write_text(site.read_text().replace(before, value))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "conf"))
    folder = root(cluster, "hdfs")
    publish(folder / "m.json", b"{}")
    found = Client(str(cluster.hdfs)).get_file_info(f"{folder.path}/m.json")
    assert copies == found.replication


@pytest.mark.parametrize("copies", [1, READ_BY_ALL])
@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_a_file_has_the_copies_that_its_writer_asks_for(
    cluster: Cluster, scheme: str, copies: int
) -> None:
    """One, of a file that can be made again; more than there are nodes, of one that all read."""
    folder = root(cluster, scheme)
    with create(folder / "copies.bin", replication=copies) as file:
        file.write(b"1")
    found = Client(str(cluster.hdfs)).get_file_info(f"{folder.path}/copies.bin")
    assert copies == found.replication


def test_a_cluster_that_keeps_fewer_copies_keeps_its_usual_ones(cluster: Cluster) -> None:
    """A wish beyond `dfs.replication.max` (Hadoop's own is 512) is no failure."""
    folder = root(cluster, "hdfs")
    with create(folder / "copies.bin", replication=513) as file:
        file.write(b"1")
    found = Client(str(cluster.hdfs)).get_file_info(f"{folder.path}/copies.bin")
    assert 2 == found.replication


def test_a_gateway_says_how_many_copies_there_may_be(cluster: Cluster) -> None:
    """It refuses after the bytes, when they cannot be written again."""
    with (
        pytest.raises(NotConfigured, match=r"exceeds maximum of 512.*hdfs://"),
        create(root(cluster, "webhdfs") / "copies.bin", replication=513) as file,
    ):
        file.write(b"1")


def test_quota_and_safe_mode(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are said; and a NameNode in safe mode is waited for, as it is while it starts."""
    folders = [root(cluster, scheme) for scheme in RENAME]

    def admin(*words: str) -> None:
        command = ["hdfs", "dfsadmin", *words]
        subprocess.run(command, check=True, capture_output=True, env=cluster.running.variables)

    admin("-setQuota", "1", *(folder.path for folder in folders))
    for folder in folders:
        with pytest.raises(NoSpace, match="quota"):
            publish(folder / "m.json", b"")
    admin("-clrQuota", *(folder.path for folder in folders))
    admin("-safemode", "enter")
    try:
        monkeypatch.setattr(retry, "RETRY_SECONDS", 0.5)
        for folder in folders:
            with pytest.raises(Unavailable, match="safe mode"):
                make_folder(folder / "new")
            assert not exists(folder / "new")
    finally:
        admin("-safemode", "leave")


def test_configurations_that_do_not_help(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder without a configuration, one that cannot be read, one that knows another name."""
    with pytest.raises(NotConfigured, match="tells of no nameservice 'other'"):
        stat(locate("hdfs://other/"))
    monkeypatch.setenv("HADOOP_CONF_DIR", f"{tmp_path}")
    with pytest.raises(NotConfigured, match=r"holds no fs\.defaultFS"):
        stat(locate("hdfs:///"))
    (tmp_path / "core-site.xml").write_text("<configuration><property>")
    with pytest.raises(NotConfigured, match="cannot be read"):
        stat(locate("hdfs:///"))


def test_names_of_the_cluster(cluster: Cluster) -> None:
    """By address, by nameservice, and as what the configuration says, it is one storage."""
    publish(cluster.hdfs / "tests/named", b"one")
    for text in ("hdfs:///tests/named", "hdfs://mini/tests/named"):
        location = locate(text)
        assert b"one" == read_bytes(location, limit=3)
        assert text == location.uri
        (found,) = [e for e in list_folder(location.parent) if e.location == location]
        assert "named" == found.location.relative_to(location.parent)


@pytest.mark.slow
@BOTH
def test_a_daemon_that_takes_connections_and_says_nothing(
    scheme: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose processes hang: given up after ten seconds."""
    from audioloom_storage.webhdfs import client

    monkeypatch.setattr(client, "ANSWER_SECONDS", 10)
    folder = getattr(cluster, scheme)
    with Relay(folder.authority, mute=True) as way:
        begin = time.monotonic()
        with pytest.raises(Unavailable, match=r"no answer|timed out"):
            stat(by_way_of(way, folder))
        assert time.monotonic() - begin < 15


@BOTH
def test_what_hdfs_holds_no_name_for(scheme: str, cluster: Cluster) -> None:
    """A colon, and a name longer than 255 bytes."""
    folder = root(cluster, scheme)
    for name in ("a:b", "x" * 256):
        with pytest.raises(UnsafePath):
            publish(folder / name, b"")
    assert [] == list(list_folder(folder))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    for name in [name for name in sys.modules if name.startswith("audioloom_storage.hdfs.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(NotConfigured, match=r'pip install "audioloom-storage\[hdfs\]"'):
        stat(locate("hdfs:///a"))
