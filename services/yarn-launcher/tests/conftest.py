"""A launcher as a process of its own, as a user starts it, and what its gang has noted."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from audioloom_mini_cluster.client import Running, running

_SPEC = importlib.util.spec_from_file_location("cluster", Path(__file__).with_name("cluster.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
on_cluster = importlib.util.module_from_spec(_SPEC)
sys.modules["cluster"] = on_cluster  # files of tests are not a package
_SPEC.loader.exec_module(on_cluster)

MEMBER = Path(__file__).parent / "programs" / "member.py"
PATIENCE_S = 90


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZXx"
    except OSError:
        return False


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that will come; its value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s in vain: {what}")
        time.sleep(0.02)
    return value


@dataclass
class Launches:
    """Starts launchers below one folder, and ends in the test's end what they left."""

    folder: Path
    root: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        """Where the members write."""
        return self.folder / "notes"

    def start(
        self, *parts: str, options: tuple[str, ...] = (), **more: Any
    ) -> subprocess.Popen[str]:
        """Start `run … -- member.py` in the background."""
        member = (sys.executable, str(MEMBER), str(self.notes), *parts)
        return self.program("run", "--root", str(self.root), *options, "--", *member, **more)

    def program(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start the launcher with these arguments."""
        process = subprocess.Popen(
            [sys.executable, "-m", "audioloom_yarn_launcher", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            **more,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, **more: Any) -> tuple[int, str, str]:
        """Run the launcher with these arguments to its end: exit code, stdout, stderr."""
        return finish(self.program(*arguments, **more))

    def go(self) -> None:
        """Let the members end."""
        (self.notes / "go").touch()

    def note(self, rank: int, attempt: int) -> dict[str, Any]:
        """What a member has noted, as soon as it has."""
        path = self.notes / f"{rank}.{attempt}.json"
        until(path.exists, f"member {rank} of attempt {attempt}")
        noted: dict[str, Any] = json.loads(path.read_text())
        return noted

    def pids(self) -> set[int]:
        """All processes that any member has told of: itself, its worker, and what it started."""
        notes = [json.loads(path.read_text()) for path in self.notes.glob("*.json")]
        return {note[which] for note in notes for which in ("pid", "worker", "escaped")}

    def record(self, process_output: str, name: str) -> dict[str, Any]:
        """A record of the run whose location was printed."""
        record: dict[str, Any] = json.loads((Path(process_output) / "attempts" / name).read_text())
        return record

    def the_run(self) -> Path:
        """The only run folder there is."""
        (folder,) = (self.root / "runs").iterdir()
        return folder


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a launcher: exit code, stdout, stderr."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.strip(), err


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


def configure(folder: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    (folder / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.resourcemanager.webapp.address</name>"
        f"<value>{page}</value></property></configuration>"
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(folder))


@pytest.fixture
def helpers() -> Any:
    """The functions above, for tests: files of tests are not a package."""

    class Helpers:
        alive = staticmethod(alive)
        until = staticmethod(until)
        finish = staticmethod(finish)
        configure = staticmethod(configure)
        member = MEMBER

    return Helpers


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
