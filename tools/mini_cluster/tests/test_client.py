"""The client of a cluster, with programs that stand for the one that would start the daemons."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from audioloom_mini_cluster.client import GIVEN, running
from audioloom_mini_cluster.errors import MiniClusterError, NotReady
from cluster_stand_in import READY, stand_in

ANSWERS = """
{ready}
for line in sys.stdin:
    line = line.strip()
    bad = line.endswith("sky")
    answer = dict(failed=line, error="no such daemon") if bad else dict(done=line, pid=7)
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GIVEN, raising=False)


def test_daemons_that_do_not_start(tmp_path: Path) -> None:
    """The error has the exit code of the command."""
    python = stand_in(tmp_path, "sys.exit(69)")
    with pytest.raises(NotReady, match="exit code 69"), running(python=python):
        raise AssertionError


def test_a_cluster_that_ends_badly(tmp_path: Path) -> None:
    """Something may be left: it is not passed over."""
    python = stand_in(tmp_path, "{ready}\nsys.stdin.read()\nsys.exit(70)")
    with pytest.raises(MiniClusterError, match="exit code 70"), running(python=python):
        pass


def test_words_are_answered(tmp_path: Path) -> None:
    """With an error where the cluster says that it could not be done."""
    with running(python=stand_in(tmp_path, ANSWERS)) as cluster:
        cluster.tell("kill datanode-1")
        with pytest.raises(MiniClusterError, match="no such daemon"):
            cluster.tell("kill sky")
        with cluster.without("datanode-1", "datanode-2"):
            pass


def test_the_process_of_a_daemon_is_the_one_of_now(tmp_path: Path) -> None:
    """One that is started anew has another."""
    with running(python=stand_in(tmp_path, ANSWERS)) as cluster:
        assert {"datanode-1": 1} == cluster.daemons
        cluster.tell("start datanode-1")
        assert {"datanode-1": 7} == cluster.daemons


def test_a_daemon_that_was_killed_is_started_whatever_happens(tmp_path: Path) -> None:
    """Those that come after find a whole cluster."""
    said = tmp_path / "said"
    body = f"{{ready}}\nfor line in sys.stdin:\n    open({str(said)!r}, 'a').write(line)\n"
    body += "    print(json.dumps(dict(done=line.strip(), pid=7)), flush=True)"
    with running(python=stand_in(tmp_path, body)) as cluster:
        with pytest.raises(KeyError), cluster.without("namenode"):
            raise KeyError
        with pytest.raises(KeyError), cluster.frozen("namenode"):
            raise KeyError
    words = [f"{word} namenode" for word in ("kill", "start", "stop", "cont")]
    assert words == said.read_text().splitlines()


def test_a_cluster_that_has_ended_says_so(tmp_path: Path) -> None:
    """Rather than that its answer is not JSON."""
    python = stand_in(tmp_path, "{ready}\nsys.stdin.readline()")
    with (
        running(python=python) as cluster,
        pytest.raises(MiniClusterError, match="the mini-cluster has ended"),
    ):
        cluster.tell("kill datanode-1")


def test_within_the_block_this_process_is_a_client(tmp_path: Path) -> None:
    """And after it what it was before."""
    before = dict(os.environ)
    with running(python=stand_in(tmp_path, ANSWERS)) as cluster, cluster.exported():
        assert "/c" == os.environ["HADOOP_CONF_DIR"]
        assert f"/b:{before['PATH']}" == os.environ["PATH"]
    assert before == dict(os.environ)


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the pages of a shared cluster are asked; no application runs on it."""
    asked = []

    class Pages(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"apps": null}')

        do_GET = do_DELETE = answer  # noqa: N815 - http.server gives the names

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}"
        line = {**READY, "pages": {"hdfs": page, "yarn": page}}
        (tmp_path / "line").write_text(json.dumps(line))
        monkeypatch.setenv(GIVEN, str(tmp_path / "line"))
        yield asked
        server.shutdown()


def test_a_cluster_that_is_shared(requests: list[str]) -> None:
    """Its daemons are let alone, and the folder of the block is removed at the end."""
    with running(python="/nowhere") as cluster:
        assert ("hdfs://h:1", ["n"]) == (cluster.hdfs, cluster.nodes)
        with pytest.raises(MiniClusterError, match="is shared"):
            cluster.tell("kill datanode-1")
        assert [] == requests
    assert 2 == len(requests)
    assert requests[0].startswith("GET /ws/v1/cluster/apps?")
    folder = cluster.base.removeprefix("hdfs://h:1")
    assert requests[1].startswith(f"DELETE /webhdfs/v1{folder}?op=DELETE&recursive=true")


@pytest.mark.usefixtures("requests")
def test_who_needs_a_cluster_alone_gets_one(tmp_path: Path) -> None:
    """One with options, or one whose daemons are to be killed."""
    python = stand_in(tmp_path, "{ready}\nsys.stdin.read()")
    for options, alone in ((("--nodes=1",), False), ((), True)):
        with running(*options, python=python, alone=alone) as cluster:
            assert READY["pages"] == cluster.pages
