"""The fixtures of all tests: launchers, a web page, and a cluster."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import launcher_on_yarn as on_cluster
import pytest
from audioloom_mini_cluster.client import Running, running
from launcher_processes import Launches, alive, configure


@pytest.fixture
def launches(tmp_path: Path) -> Iterator[Launches]:
    launches = Launches(tmp_path, tmp_path / "root")
    launches.notes.mkdir()
    yield launches
    for process in launches.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    left = [pid for pid in launches.pids() if alive(pid)]
    for pid in left:
        with suppress(ProcessLookupError):  # it ended by itself meanwhile
            os.kill(pid, signal.SIGKILL)


Answer = Callable[[int, object], None]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answer]:
    """A page that answers every question as it is told, and a configuration that names it."""
    given: list[tuple[int, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = given[-1]
            self.send_response(code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configure(tmp_path, monkeypatch, f"127.0.0.1:{server.server_port}")
    yield lambda code, body: given.append((code, json.dumps(body).encode()))
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Running]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def yarn(cluster: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yarn = on_cluster.OnCluster(cluster, tmp_path_factory.mktemp("yarn"))
    yield yarn
    try:
        assert [] == cluster.applications()
        on_cluster.until(lambda: not on_cluster.processes(cluster), "all processes have ended")
    finally:
        yarn.close()
